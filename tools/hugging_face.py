"""Hugging Face's GPT-2 and Llama with our weights: references are recorded from them, and benchmarks compare with them.

It needs torch and transformers, so only maintainers' commands and tests import it.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from checker.numeric.references import Array, seeded_weights

#: Batch 2, length 7, width 15, 3 heads of 5, 4 layers: no two sizes are equal, so no mix-up of axes goes unnoticed.
AWKWARD: dict[str, Any] = dict(
    vocab_size=37, n_positions=13, n_embd=15, n_layer=4, n_head=3, n_inner=22, layer_norm_epsilon=1e-3
)
#: The same for a Llama: a head is as wide as neither ``hidden_size / num_attention_heads`` nor 4, where the permutation
#: of llama.cpp is its own inverse, and the pairs of channels turn at speeds that differ from the usual ones.
AWKWARD_LLAMA: dict[str, Any] = dict(
    vocab_size=41, max_position_embeddings=13, hidden_size=36, intermediate_size=22, num_hidden_layers=2,
    num_attention_heads=12, num_key_value_heads=4, head_dim=10, rms_norm_eps=1e-3, rope_theta=50.0,
)  # fmt: skip
CONV1D = ("c_attn.weight", "c_proj.weight", "c_fc.weight")  # Hugging Face keeps these [in, out]
Arrays = dict[str, Array]


def hugging_face_config(**sizes: Any) -> GPT2Config:
    """Return Hugging Face's configuration of the given sizes, with special tokens that any vocabulary has."""
    options: dict[str, Any] = {"bos_token_id": 0, "eos_token_id": 0, "attn_implementation": "sdpa"}
    return GPT2Config(**sizes, **options)


def load(module: torch.nn.Module, weights: Arrays) -> None:
    """Put ``[out, in]`` weights into a module of Hugging Face's, every one of them."""
    state = {name: array.T if name.endswith(CONV1D) else array for name, array in weights.items()}
    module.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in state.items()})
    module.eval()


def linear_shapes(module: torch.nn.Module) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a module's weights as ``Linear`` has them, ``[out, in]``."""
    shapes = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    return {name: shape[::-1] if name.endswith(CONV1D) else shape for name, shape in shapes.items()}


def seeded(module: torch.nn.Module, prefix: str = "", scale: float = 1.0) -> Arrays:
    """Fill a module with seeded weights, and return them, ``[out, in]``."""
    shapes = {f"{prefix}{name}": shape for name, shape in linear_shapes(module).items()}
    weights = {name.removeprefix(prefix): scale * array for name, array in seeded_weights(shapes).items()}
    load(module, weights)
    return weights


def awkward_model() -> tuple[Any, Arrays]:
    """Return the whole model on the awkward configuration, and its weights; the head uses the embeddings."""
    return seeded_model(hugging_face_config(**AWKWARD))


def seeded_model(config: GPT2Config, factors: dict[str, float] | None = None) -> tuple[Any, Arrays]:
    """Return a tied model with seeded weights; those whose names end with a key of ``factors`` are multiplied."""
    model = GPT2LMHeadModel(config)
    weights = seeded_weights(linear_shapes(model))
    for end, factor in (factors or {}).items():
        weights |= {name: factor * array for name, array in weights.items() if name.endswith(end)}
    weights["lm_head.weight"] = weights["transformer.wte.weight"]
    load(model, weights)
    return model, weights


def hugging_face_llama(*, rope_theta: float, **sizes: Any) -> Any:
    """Return Hugging Face's Llama of the given sizes; it has a head of its own."""
    rope = {"rope_type": "default", "rope_theta": rope_theta}
    options: dict[str, Any] = {"tie_word_embeddings": False, "attn_implementation": "sdpa"}
    return LlamaForCausalLM(LlamaConfig(**sizes, rope_parameters=rope, **options)).eval()


def awkward_llama() -> tuple[Any, Arrays]:
    """Return a whole Llama on the awkward configuration, and its weights."""
    model = hugging_face_llama(**AWKWARD_LLAMA)
    return model, seeded(model)
