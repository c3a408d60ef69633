"""Given in step 14: a KV cache, the keys and values of earlier tokens in memory that a graph writes to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from max.driver import Buffer, Device
from max.dtype import DType
from max.experimental.tensor import Tensor
from max.graph import BufferType, DeviceRef, Dim, DimLike, TensorValue

from solutions.solution_01 import GPT2Config
from solutions.solution_05 import check_token_ids
from solutions.solution_06 import check_length

BlockCache = tuple[Tensor, Tensor]  # keys and values of one block, [batch, head, n_positions, head_dim] each
KVCache = list[BlockCache]  # those of every block
CachedFunction = Callable[[np.ndarray, int, KVCache], np.ndarray]  # int64 [batch, total], past -> [batch, 1, vocab]

PADDING = -1  # fills up a shorter prompt from the left, so that all rows of a batch end together
HIDDEN = -1e9  # added to the score of padding; unlike -inf, it leaves a row of padding finite


def empty_cache(config: GPT2Config, batch_size: int, device: Device) -> KVCache:
    """Allocate zeros for ``n_positions`` keys and values in every block, on the device, as float32."""
    shape = (batch_size, config.n_head, config.n_positions, config.head_dim)
    zeros = partial(Buffer.zeros, shape, DType.float32, device)
    cache = [(Tensor.from_dlpack(zeros()), Tensor.from_dlpack(zeros())) for _ in range(config.n_layer)]
    device.synchronize()  # else zeros may still be written after the first keys and values
    return cache


def cache_type(config: GPT2Config, device: Device) -> Any:  # compile takes a list, but its annotation does not
    """Describe such a cache to MAX's compiler, for any batch: a graph may write to a buffer, not to a tensor."""
    ref = DeviceRef.from_device(device)
    buffer = BufferType(DType.float32, ["batch", config.n_head, config.n_positions, config.head_dim], ref)
    return [(buffer, buffer)] * config.n_layer


def update_cache(
    block_cache: BlockCache, key: Tensor, value: Tensor, total: DimLike
) -> tuple[Tensor, Tensor]:  # 2 x [batch, head, seq, head_dim] -> 2 x [batch, head, total, head_dim]
    """Write keys and values of new tokens behind those of earlier ones, in place; return those of all ``total``."""
    keys, values = block_cache
    sequence_length = key.shape[-2]
    past, end = TensorValue(Dim(total) - sequence_length), TensorValue(Dim(total))  # symbols, computed by the graph
    new = (slice(past, end), sequence_length)  # MAX wants a slice with its length
    keys[:, :, new] = key
    values[:, :, new] = value
    return keys[:, :, :total], values[:, :, :total]


def check_rows(input_ids: np.ndarray, config: GPT2Config) -> None:  # int64 [batch, total]
    """Raise ValueError if there are too many tokens, unknown ids, a row without a token, or padding after one."""
    check_length(input_ids.shape[-1], config)
    is_token = input_ids != PADDING
    check_token_ids(input_ids[is_token], config)
    if not (is_token.any(axis=-1).all() and (is_token == np.sort(is_token, axis=-1)).all()):
        raise ValueError("a row has padding where a token should be; it needs a token, and padding only before it")


def run_on_arrays(compiled: Callable[..., Tensor], device: Device) -> CachedFunction:
    """Return a compiled model with a cache as a function of arrays."""

    def run(input_ids: np.ndarray, past: int, cache: KVCache) -> np.ndarray:
        """Return the logits after the last token; of all ids, the graph runs those after the first ``past``."""
        is_token = input_ids != PADDING
        ids = np.where(is_token, input_ids, 0)  # padding is looked up too, and no token looks at it
        positions = np.maximum(is_token.cumsum(axis=-1) - 1, 0)  # a row's first token is at position 0
        padding_mask = np.where(is_token, 0, HIDDEN).astype(np.float32)
        arrays = map(np.ascontiguousarray, (ids[:, past:], positions[:, past:], padding_mask))
        return compiled(*(Tensor.from_dlpack(array).to(device) for array in arrays), cache).to_numpy()

    return run
