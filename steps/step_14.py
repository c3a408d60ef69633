"""Step 14: the KV cache, by which a new token costs the work of one token and not of the whole text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from max.driver import CPU, Device
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor
from max.graph import BufferType, DeviceRef, Dim, DimLike, TensorType, TensorValue

from solutions.solution_01 import GPT2Config
from solutions.solution_02 import causal_mask
from solutions.solution_06 import check_length
from solutions.solution_07 import GPT2MultiHeadAttention
from solutions.solution_08 import pre_norm_residual
from solutions.solution_11 import MaxGPT2LMHeadModel

KVCache = list[tuple[Tensor, Tensor]]  # keys and values of every block, [batch, head, n_positions, head_dim] each
Graph = Callable[[np.ndarray, np.ndarray, np.ndarray, KVCache], np.ndarray]  # CachedGPT2.forward, on arrays

PADDING = -1  # fills up a shorter prompt from the left, so that all rows of a batch end together


def pad_left(prompts: Sequence[Sequence[int]]) -> np.ndarray:  # -> [batch, longest]
    """Put prompts of different lengths into the rows of one array."""
    longest = max(map(len, prompts))
    return np.array([[PADDING] * (longest - len(prompt)) + list(prompt) for prompt in prompts], np.int64)


def empty_cache(config: GPT2Config, batch_size: int, *, device: Device) -> KVCache:
    """Preallocate buffers for ``n_positions`` keys and values in every block, as float32."""
    shape = (batch_size, config.n_head, config.n_positions, config.head_dim)

    def buffer() -> Tensor:
        return Tensor.from_dlpack(np.zeros(shape, np.float32)).to(device)

    # TODO: A list with a pair of buffers for every block, each buffer used once. (1 line)
    raise NotImplementedError


def store(cache: Tensor, new: Tensor, past: DimLike) -> None:  # [..., n_positions, head_dim], [..., seq, head_dim]
    """Write the keys or values of ``seq`` tokens into the slots after those of the ``past`` tokens before, in place."""
    sequence_length = new.shape[-2]
    first, end = TensorValue(Dim(past)), TensorValue(Dim(past) + sequence_length)  # symbols as numbers of the graph
    # TODO: Assign to the slots first … end of axis 2; MAX wants them as (slice, length). (1 line)
    raise NotImplementedError


def cache_mask(sequence_length: DimLike, padding_mask: Tensor) -> Tensor:  # [batch, total] -> [batch, 1, seq, total]
    """Return the mask of the last ``sequence_length`` of ``total`` tokens, which may look at those before them too.

    Args:
        sequence_length: how many of the tokens are new.
        padding_mask: 0 for a token, a large negative number for padding; it goes to every head and row.
    """
    total, dtype, device = padding_mask.shape[-1], padding_mask.dtype, padding_mask.device
    # TODO: Of the causal mask of all tokens, the rows of the new ones; plus padding_mask with two axes more. (3 lines)
    raise NotImplementedError


def attend(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor
) -> Tensor:  # [batch, head, seq, head_dim], twice [batch, head, total, head_dim] -> [batch, head, seq, head_dim]
    """Compute scaled dot-product attention of the new tokens to all tokens, under a mask that is given."""
    # TODO: Scores [batch, head, seq, total], scaled and masked; softmax; times values. (3 lines)
    raise NotImplementedError


def cached_attention(
    attention: GPT2MultiHeadAttention, keys: Tensor, values: Tensor, mask: Tensor, hidden_states: Tensor
) -> Tensor:  # [batch, seq, embd] -> [batch, seq, embd]
    """Run step 07's attention of the new tokens; the keys and values of all earlier ones come from the cache.

    Args:
        attention: the module with the weights.
        keys: this block's keys, ``[batch, head, n_positions, head_dim]``; those of the new tokens are written into it.
        values: its values, likewise.
        mask: ``[batch, 1, seq, total]``; its last axis says how many tokens there are, old and new.
        hidden_states: the new tokens.
    """
    sequence_length, total = hidden_states.shape[-2], mask.shape[-1]
    query, key, value = F.split(attention.c_attn(hidden_states), [attention.embed_dim] * 3, axis=-1)
    # TODO: Store the heads of key and of value; attend to the first total slots; merge the heads, project. (5 lines)
    raise NotImplementedError


class CachedGPT2(Module[[Tensor, Tensor, Tensor, KVCache], Tensor]):
    """GPT-2 that is shown only the new tokens. It has no weights of its own; it uses those of step 11's model.

    The arguments are those of Hugging Face's ``GPT2LMHeadModel``: ``input_ids``, ``position_ids``, a mask over
    all tokens, and ``past_key_values``, which is the cache.
    """

    def __init__(self, model: MaxGPT2LMHeadModel) -> None:
        self.model = model

    def forward(
        self, input_ids: Tensor, position_ids: Tensor, padding_mask: Tensor, cache: KVCache
    ) -> Tensor:  # [batch, seq], [batch, seq], [batch, total] -> [batch, 1, vocab]
        """Return the logits after the last token, and leave keys and values of the new tokens in the cache."""
        transformer = self.model.transformer
        mask = cache_mask(input_ids.shape[-1], padding_mask)
        # TODO: Embed; blocks as in step 09, with cached_attention; ln_f and head of the last token alone. (6 lines)
        raise NotImplementedError


class CachedModel:
    """The model as step 12 wants it, a function of all token ids, which runs only those that it has not run before."""

    def __init__(self, graph: Graph, config: GPT2Config, device: Device) -> None:
        self.graph, self.config, self.device = graph, config, device
        self.cached_ids = np.zeros((0, 0), np.int64)  # [batch, past]: the tokens whose keys and values the cache holds
        self.cache: KVCache = []

    def cached_prefix_length(self, input_ids: np.ndarray) -> int:  # [batch, total]
        """Count the tokens at the beginning that need not run: those the cache holds, but never the last one of all."""
        if len(input_ids) != len(self.cached_ids):
            return 0
        # TODO: Compare column by column what both have; count the equal ones up to the first that differs. (4 lines)
        raise NotImplementedError

    def __call__(self, input_ids: np.ndarray) -> np.ndarray:  # [batch, total] -> [batch, 1, vocab]
        """Return the logits after the last token; ``PADDING`` may stand in front of a row's tokens.

        The text of step 12 slides when the context is full, which moves every token to another position:
        nothing in the cache agrees any more, and all of it runs again, as without a cache.

        Raises:
            ValueError: there are more tokens than ``n_positions``, or a row ends with padding.
        """
        check_length(input_ids.shape[-1], self.config)
        is_token = input_ids != PADDING
        if not is_token[:, -1].all():
            raise ValueError("a row ends with padding; it goes in front of the tokens, as pad_left puts it")
        past = self.cached_prefix_length(input_ids)
        if len(input_ids) != len(self.cached_ids):
            self.cache = empty_cache(self.config, len(input_ids), device=self.device)
        self.cached_ids = input_ids[:, :past].copy()  # all that can be relied on if the run below is broken off
        # TODO: Positions count a row's tokens, without padding; run what is new; remember the ids. (5 lines)
        raise NotImplementedError


def on_arrays(compiled: Callable[..., Tensor], device: Device) -> Graph:
    """Make a compiled ``CachedGPT2`` a function of arrays; the cache stays where it is."""

    def run(input_ids: np.ndarray, position_ids: np.ndarray, padding_mask: np.ndarray, cache: KVCache) -> np.ndarray:
        arrays = (np.array(array, order="C") for array in (input_ids, position_ids, padding_mask))
        logits = compiled(*(Tensor.from_dlpack(array).to(device) for array in arrays), cache)
        return np.from_dlpack(logits.to(CPU()))

    return run


def compile_cached(model: MaxGPT2LMHeadModel, device: Device) -> CachedModel:
    """Compile the model with a cache for a device: one graph for the prompt and for every token after it."""
    config, ref = model.config, DeviceRef.from_device(device)
    ids = TensorType(DType.int64, ["batch", "seq"], ref)
    mask = TensorType(DType.float32, ["batch", "total"], ref)
    # TODO: What a graph writes to is a BufferType: a pair for every block. Compile with all four types. (4 lines)
    raise NotImplementedError
