"""The arithmetic of the book's chapter on sizes equals what Hugging Face's models have and do."""

import pytest

from solutions.llama_config import LlamaConfig
from solutions.solution_01 import GPT2Config
from tools.book_maker.values import arithmetic

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

NAMES = ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
AWKWARD = GPT2Config(vocab_size=37, n_positions=13, n_embd=15, n_layer=10, n_head=3, n_inner=44)
TOKENS = 11
PARTS = {
    "wte": ("wte.",),
    "wpe": ("wpe.",),
    "attention": (".attn.",),
    "mlp": (".mlp.",),
    "norms": (".ln_1.", ".ln_2.", "ln_f."),
}


def hugging_faces(config, **options):
    """Hugging Face's model of the same sizes, on the meta device: shapes and no numbers."""
    with torch.device("meta"):
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(**vars(config), **options)).eval()


@pytest.mark.parametrize("config", [*map(GPT2Config.published, NAMES), AWKWARD], ids=[*NAMES, "awkward"])
def test_parameters_are_hugging_faces_part_by_part(config):
    model = hugging_faces(config)
    counted = arithmetic.parameters(config)
    assert counted["total"] == model.num_parameters()
    left = dict(model.named_parameters())  # a tied weight is listed once, as wte
    for part, marks in PARTS.items():
        mine = [name for name in left if any(mark in name for mark in marks)]
        assert mine, f"no weight of the model belongs to {part}"
        assert sum(left.pop(name).numel() for name in mine) == counted[part], part
    assert not left, "weights that belong to no part"
    assert sum(arithmetic.share(config, part) for part in PARTS) == pytest.approx(1)


def test_a_token_costs_what_hugging_faces_model_computes_keeps_and_reads():
    """Without a cache every token is compared with every other, those that the mask hides too."""
    from torch.utils.flop_counter import FlopCounterMode

    model = hugging_faces(AWKWARD, attn_implementation="eager")
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        output = model(torch.zeros((1, TOKENS), dtype=torch.long, device="meta"), use_cache=True)
    assert counter.get_total_flops() == TOKENS * arithmetic.token_flops(AWKWARD, TOKENS)
    head = AWKWARD.vocab_size * AWKWARD.n_embd
    assert head / arithmetic.matrix_weights(AWKWARD) == pytest.approx(arithmetic.head_share(AWKWARD))
    cached = sum(part.nbytes for layer in output.past_key_values.layers for part in (layer.keys, layer.values))
    assert cached == arithmetic.cache_bytes(AWKWARD, TOKENS)
    read = model.num_parameters() - (AWKWARD.n_positions - 1) * AWKWARD.n_embd  # of the positions, one row
    for number in (4, 2):
        expected = (read * 4 + cached) * number // 4
        assert arithmetic.decode_bytes(AWKWARD, TOKENS, number) == expected


def test_blocks_take_the_bytes_that_the_file_has_of_them():
    from solutions.quantized import quantize_weights
    from solutions.training import initial_weights

    config = GPT2Config(vocab_size=37, n_positions=13, n_embd=32, n_layer=2, n_head=2, n_inner=64)
    blocks = quantize_weights(initial_weights(config, seed=0), "Q4_0")
    assert sum(array.nbytes for array in blocks.values()) == arithmetic.quantized_bytes(config, 18)


def test_in_bfloat16_the_matrices_take_two_bytes_and_the_head_is_a_copy():
    model = hugging_faces(AWKWARD)
    tables = {model.transformer.wte.weight, model.transformer.wpe.weight}
    expected = 2 * model.lm_head.weight.numel()
    for weight in model.parameters():
        expected += weight.numel() * (2 if weight.ndim == 2 and weight not in tables else 4)
    assert arithmetic.bfloat16_bytes(AWKWARD) == expected


def test_the_weights_of_a_llama_are_hugging_faces():
    sizes = {"hidden_size": 24, "intermediate_size": 31, "num_hidden_layers": 3, "vocab_size": 29}
    heads = {"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 5}
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, **heads, tie_word_embeddings=True))
    assert arithmetic.llama_weights(LlamaConfig(**sizes, **heads)) == model.num_parameters()
