"""Warm-up 07: a cache of keys and values, so that only new tokens run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solutions.warmup_01 import context_vectors
from solutions.warmup_03 import attention_weights, causal_mask
from solutions.warmup_04 import merge_heads, split_heads
from solutions.warmup_05 import project_fused


@dataclass
class Cache:
    """The keys and values of one attention layer, in buffers that are made once and filled from the front."""

    keys: np.ndarray  # [batch, head, capacity, head_dim]
    values: np.ndarray  # [batch, head, capacity, head_dim]
    length: int = 0  # how many tokens it holds, in slots 0 to length - 1; the slots behind them are free

    @property
    def n_head(self) -> int:
        """Return how many heads have keys and values here."""
        return self.keys.shape[-3]

    @property
    def capacity(self) -> int:
        """Return how many tokens fit."""
        return self.keys.shape[-2]


def empty_cache(batch_size: int, n_head: int, capacity: int, head_dim: int) -> Cache:
    """Return a cache that holds no token yet, with buffers for ``capacity`` of them."""
    shape = (batch_size, n_head, capacity, head_dim)
    return Cache(np.zeros(shape), np.zeros(shape))


def next_positions(cache: Cache, sequence_length: int) -> np.ndarray:  # -> [seq] of int
    """Return the positions of the next tokens: they go on where the cache ends. A token's position is also its slot.

    Raise ValueError, naming how many tokens there would be, and the capacity, if they do not fit.
    """
    total = cache.length + sequence_length
    if total > cache.capacity:
        raise ValueError(f"{total} tokens do not fit into a cache of {cache.capacity} slots")
    # Count from cache.length up to total. (1 line)
    return np.arange(cache.length, total)


def append(cache: Cache, key: np.ndarray, value: np.ndarray) -> None:  # 2 x [batch, head, seq, head_dim]
    """Put the keys and values of new tokens behind those in the cache, and count the tokens.

    It changes the cache that it is given and returns nothing. No slot that was filled before is written again. Raise
    ValueError, as ``next_positions`` does, and leave the cache as it was, if they do not fit.
    """
    # Take the next positions, write the keys and the values into these slots of axis -2, then count. (4 lines)
    positions = next_positions(cache, key.shape[-2])
    cache.keys[..., positions, :] = key
    cache.values[..., positions, :] = value
    cache.length += len(positions)


def mask_with_past(sequence_length: int, past: int) -> np.ndarray:  # -> [seq, past + seq] of bool
    """Return where new tokens may look: at all ``past`` tokens before them, at themselves, and at none after them.

    Step 14's ``cache_mask`` says the same in numbers to add, and hides padding too.
    """
    # Of the square mask of all tokens, old and new, keep the rows of the new ones. (1 line)
    return causal_mask(past + sequence_length)[past:]


def attend_to_cache(query: np.ndarray, cache: Cache) -> np.ndarray:  # [batch, head, seq, head_dim] -> same shape
    """Let the last ``seq`` tokens in the cache gather from all tokens before them and from themselves.

    The cache is only read. Free slots take no part, whatever is in them. Raise ValueError if there are more queries
    than tokens in the cache.
    """
    sequence_length = query.shape[-2]
    past = cache.length - sequence_length
    if past < 0:
        raise ValueError(f"{sequence_length} tokens ask and the cache holds {cache.length}; append before you attend")
    # Read the filled slots alone, take the weights under the mask with the past, gather the values. (4 lines)
    keys = cache.keys[..., : cache.length, :]
    values = cache.values[..., : cache.length, :]
    weights = attention_weights(query, keys, mask_with_past(sequence_length, past))
    return context_vectors(weights, values)


def cached_attention(
    x: np.ndarray, W_qkv: np.ndarray, W_o: np.ndarray, cache: Cache
) -> np.ndarray:  # [batch, seq, embd], [embd, 3 * embd], [embd, embd] -> [batch, seq, embd]
    """Run warm-up 05's causal ``multi_head_attention`` for new tokens alone, and cache their keys and values.

    Raise ValueError, and leave the cache as it was, if they do not fit.
    """
    # Attend as warm-up 05 does, but to the cache, once it has the new keys and values. (4 lines)
    query, key, value = (split_heads(part, cache.n_head) for part in project_fused(x, W_qkv))
    append(cache, key, value)
    merged = merge_heads(attend_to_cache(query, cache))
    return merged @ W_o


def multiplications(sequence_length: int, past: int, n_embd: int) -> int:
    """Return how many multiplications of two numbers the matmuls of ``cached_attention`` take for one row of a batch.

    Hidden scores count, since they are computed before the mask hides them. Without a cache, all tokens are new in
    every call, and none is past.
    """
    # For each new token, count those of W_qkv and W_o, the scores, and the weighted values. (2 lines)
    total = past + sequence_length
    return sequence_length * (4 * n_embd**2 + 2 * n_embd * total)
