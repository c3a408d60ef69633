"""Compute how large a GPT-2 or a Llama is, and what a token costs: the arithmetic of the chapter on sizes.

``tests/dev/tools/book_maker/values/test_arithmetic.py`` compares every function here with models that Hugging Face
or this course makes.
"""

from solutions.llama_config import LlamaConfig
from solutions.solution_01 import GPT2Config

FLOAT32 = 4  # bytes of one number


def parameters(config: GPT2Config) -> dict[str, int]:
    """Return the weights of a GPT-2 by part, over all layers, and their ``total``. The head is tied and adds none."""
    width, inner, layers = config.n_embd, config.inner_dim, config.n_layer
    parts = {
        "wte": config.vocab_size * width,
        "wpe": config.n_positions * width,
        "attention": layers * (4 * width**2 + 4 * width),  # c_attn and c_proj with their biases
        "mlp": layers * (2 * width * inner + inner + width),  # c_fc and c_proj with their biases
        "norms": (2 * layers + 1) * 2 * width,  # ln_1 and ln_2 of every layer, and ln_f
    }
    return parts | {"total": sum(parts.values())}


def llama_weights(config: LlamaConfig) -> int:
    """Return the weights of a Llama whose head is tied to its embeddings, and adds none."""
    width, heads = config.hidden_size, 2 * (config.num_attention_heads + config.num_key_value_heads)
    block = width * (heads * config.head_dim + 3 * config.intermediate_size + 2)  # 2: its norms
    return config.num_hidden_layers * block + (config.vocab_size + 1) * width  # 1: the last norm


def share(config: GPT2Config, *parts: str) -> float:
    """Return the share that some parts have of all weights, from 0 to 1."""
    counted = parameters(config)
    return sum(counted[part] for part in parts) / counted["total"]


def matrix_weights(config: GPT2Config) -> int:
    """Return how many weights every token is multiplied by: the linear layers' and the head's, without biases."""
    width, inner = config.n_embd, config.inner_dim
    return config.n_layer * (4 * width**2 + 2 * width * inner) + config.vocab_size * width


def head_share(config: GPT2Config) -> float:
    """Return the share of the head in :func:`matrix_weights`, from 0 to 1."""
    return config.vocab_size * config.n_embd / matrix_weights(config)


def quantized_bytes(config: GPT2Config, block: int) -> int:
    """Return bytes of the weights if each 32 of a matrix are a block of ``block`` bytes, and the rest stay float32."""
    matrices = matrix_weights(config)
    return matrices // 32 * block + (parameters(config)["total"] - matrices) * FLOAT32


def bfloat16_bytes(config: GPT2Config) -> int:
    """Return bytes of the weights under ``--dtype bfloat16``: two per weight of a matrix, four for the rest.

    The head has a copy of ``wte`` in two bytes, while the table itself stays in four.
    """
    counted, matrices = parameters(config), matrix_weights(config)
    return 2 * matrices + (counted["total"] - matrices + counted["wte"]) * FLOAT32


def attention_flops(config: GPT2Config, context: int) -> int:
    """Return floating-point operations of one token that looks at ``context`` tokens, including itself, in all layers.

    A dot product of query and key takes ``2 * n_embd`` over all heads, and so does a value times its weight.
    """
    return config.n_layer * 2 * 2 * config.n_embd * context


def token_flops(config: GPT2Config, context: int) -> int:
    """Return floating-point operations of one token: a multiplication and an addition per weight, and attention.

    Biases, normalizations, softmax and GELU are left out; they are a few numbers per channel, not a row of a matrix.
    """
    return 2 * matrix_weights(config) + attention_flops(config, context)


def cache_bytes(config: GPT2Config, tokens: int = 1, number: int = FLOAT32) -> int:
    """Return bytes of the keys and values of ``tokens`` tokens in all layers, at ``number`` bytes per number."""
    return tokens * config.n_layer * 2 * config.n_embd * number


def decode_bytes(config: GPT2Config, context: int, number: int = FLOAT32) -> int:
    """Return bytes read from memory to decode one token with a cache that holds ``context`` tokens.

    These are all weights, and the cache. Of ``wpe``, one row is read; ``wte`` is read whole, as the head.
    """
    counted = parameters(config)
    weights = counted["total"] - counted["wpe"] + config.n_embd
    return weights * number + cache_bytes(config, context, number)
