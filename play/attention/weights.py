"""The attention weights of a model on a text, and measures of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from max.driver import Device
from max.experimental import functional as F
from max.experimental.tensor import Tensor

from checker.course.steps import SMALL_MODEL
from checker.device import DeviceKind
from checker.errors import UserError
from checker.max_adapter.runtime import open_device, tensor
from play.tokens import encode, load_tokenizer, token_texts
from solutions.caching import empty_cache, run_on_arrays
from solutions.checkpoint import checkpoint_folder
from solutions.gguf_tokenizer import tokenizer_of
from solutions.llama import LlamaForCausalLM
from solutions.llama_files import load_llama
from solutions.solution_06 import check_length
from solutions.solution_07 import GPT2MultiHeadAttention
from solutions.solution_11 import MaxGPT2LMHeadModel
from solutions.solution_13 import load_pretrained

Weigh = Callable[[Tensor, Tensor, Tensor], Tensor]  # query, key and mask -> weights
WeightsAndScores = tuple[Tensor, Tensor]  # weights and scores, of one text

LONGEST = 512  # tokens that a Llama reads: in SmolLM2's 270 heads, they make a page of 300 MB


@dataclass(frozen=True)
class Attention:
    """The attention weights of every head on one text.

    ``weights[layer, head, query, key]`` is how much the token at ``query`` takes from the token at ``key``;
    every row sums to 1. ``scores`` are the numbers before mask and softmax: query times key over the root of the head's
    width.
    """

    tokens: list[str]
    weights: np.ndarray  # [layer, head, seq, seq], float32
    scores: np.ndarray  # [layer, head, seq, seq], float32


@contextmanager
def watched(modules: list[GPT2MultiHeadAttention]):
    """While this is open, have each forward pass put weights and scores of each module into a list; yield the list."""
    kept: list[WeightsAndScores] = []
    for module in modules:
        weigh_and_keep = partial(_weigh_and_keep, module._attention_weights, kept)
        object.__setattr__(module, "_attention_weights", weigh_and_keep)
    try:
        yield kept
    finally:
        for module in modules:
            object.__delattr__(module, "_attention_weights")


def _weigh_and_keep(weigh: Weigh, kept: list[WeightsAndScores], query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
    """Return the weights, and keep them and their scores."""
    weights = weigh(query, key, mask)
    kept.append((weights, query @ key.T / math.sqrt(int(query.shape[-1]))))
    return weights


def attention_of(model: MaxGPT2LMHeadModel, input_ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and scores of all heads from one forward pass, ``[1, seq] -> 2 x [layer, head, seq, seq]``."""
    blocks: Any = model.transformer.h
    with watched([block.attn for block in blocks]) as kept, F.lazy():
        model(tensor(input_ids).to(model.lm_head.weight.device))
    return by_layer(kept, len(blocks))


def attention_of_llama(model: LlamaForCausalLM, input_ids: np.ndarray, device: Device) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and scores of all heads of a Llama, from one forward pass with an empty cache."""
    layers: Any = model.model.layers
    run = run_on_arrays(partial(_run_lazily, model), device)
    with watched([layer.self_attn for layer in layers]) as kept:
        run(input_ids, 0, empty_cache(model.config.cache_config, 1, device))
    return by_layer(kept, len(layers))


def _run_lazily(model: LlamaForCausalLM, *inputs: Any) -> Tensor:
    with F.lazy():
        return model(*inputs)


def by_layer(kept: Sequence[WeightsAndScores], layers: int) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and scores as ``2 x [layer, head, seq, seq]``.

    A Llama's heads may lie behind each other in the rows of one, or come in several parts of a layer.

    Raises:
        UserError: a layer was not kept, since the learner's ``_attn`` computes its weights itself.
    """
    if len(kept) < layers:
        raise UserError(
            "what is shown here is the result of _attention_weights, and the model never calls it; "
            "call self._attention_weights(query, key, mask) in _attn of step 07"
        )
    weights = _joined([weights for weights, _ in kept], layers)
    return weights, _joined([scores for _, scores in kept], layers)


def _joined(parts: Sequence[Tensor], layers: int) -> np.ndarray:
    """Return parts, each [1, head, seq, seq] or [1, kv_head, group_size * seq, seq], as [layer, head, seq, seq]."""
    arrays = [part.to_numpy() for part in parts]
    length = arrays[0].shape[-1]
    heads = np.concatenate([array.reshape(-1, length, length) for array in arrays])
    return heads.reshape(layers, -1, length, length)


def read_attention(text: str, name_or_folder: str | Path = SMALL_MODEL, device: str = DeviceKind.CPU) -> Attention:
    """Return the attention weights of a checkpoint's heads on ``text``, from a model on a device.

    Blocks of the book have the plain word for the device.

    Raises:
        ValueError: the checkpoint cannot be read, there is no such device, or the text has no tokens or too many.
    """
    folder = checkpoint_folder(name_or_folder)
    tokenizer = load_tokenizer(folder)
    model = load_pretrained(folder)
    model.to(open_device(device))
    input_ids = encode(tokenizer, text, model.config)
    return Attention(token_texts(tokenizer, input_ids[0]), *attention_of(model, input_ids))


def read_attention_of_llama(text: str, file: Path, device: str = DeviceKind.CPU) -> Attention:
    """Return the attention weights of the heads of a Llama in a GGUF file; see :func:`read_attention`."""
    target = open_device(device)
    model, fields = load_llama(file, LONGEST)
    model.to(target)
    tokenizer, config = tokenizer_of(fields), model.config.cache_config
    input_ids = encode(tokenizer, text, config)
    check_length(input_ids.shape[1], config)
    return Attention(token_texts(tokenizer, input_ids[0]), *attention_of_llama(model, input_ids, target))


#: What is measured about a head: the mean weight that a token, from the second on, gives to …
MEASURED = {
    "the token before": lambda weights: np.diagonal(weights, offset=-1, axis1=-2, axis2=-1),
    "itself": lambda weights: np.diagonal(weights, axis1=-2, axis2=-1)[..., 1:],
    "the first token": lambda weights: weights[..., 1:, 0],
}


def shares(weights: np.ndarray) -> dict[str, np.ndarray]:
    """Return the mean share of its attention that a head gives to each of :data:`MEASURED`.

    The first token has nothing but itself to look at and is left out; at the second token, the
    token before is the first token as well and counts for both.

    Args:
        weights: ``[..., seq, seq]``, at least two tokens.

    Returns:
        For every name, an array ``[...]`` between 0 and 1.
    """
    return {name: share(weights).mean(axis=-1) for name, share in MEASURED.items()}


def pattern(head: dict[str, float]) -> str:
    """Return the name of the place where a head puts more than half of its attention, or nothing if there is none."""
    name, share = max(head.items(), key=lambda item: item[1], default=("", 0.0))
    return f"mostly {name}" if share > 0.5 else ""
