"""Given in step 14: the memory that its graph writes to, and the choice of the tokens that have to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from max.driver import Buffer, Device
from max.dtype import DType
from max.experimental.tensor import Tensor

from solutions.solution_01 import GPT2Config
from solutions.solution_05 import check_token_ids
from solutions.solution_06 import check_length

KVCache = list[tuple[Tensor, Tensor]]  # keys and values of every block, [batch, head, n_positions, head_dim] each
CachedGraph = Callable[[np.ndarray, np.ndarray, np.ndarray, KVCache], np.ndarray]  # CachedGPT2.forward, on arrays

PADDING = -1  # fills up a shorter prompt from the left, so that all rows of a batch end together


def pad_left(prompts: Sequence[Sequence[int]]) -> np.ndarray:  # -> [batch, longest]
    """Put prompts of different lengths into the rows of one array."""
    longest = max(map(len, prompts))
    return np.array([[PADDING] * (longest - len(prompt)) + list(prompt) for prompt in prompts], np.int64)


def empty_cache(config: GPT2Config, batch_size: int, *, device: Device) -> KVCache:
    """Allocate zeros for ``n_positions`` keys and values in every block, on the device, as float32."""
    shape = (batch_size, config.n_head, config.n_positions, config.head_dim)

    def buffer() -> Tensor:
        return Tensor.from_dlpack(Buffer.zeros(shape, DType.float32, device))

    cache = [(buffer(), buffer()) for _ in range(config.n_layer)]
    device.synchronize()  # else zeros may still be written after the first keys and values
    return cache


def check_rows(input_ids: np.ndarray, config: GPT2Config) -> None:  # [batch, total]
    """Refuse too many tokens, ids that are not in the vocabulary, and padding after a token.

    Raises:
        ValueError: there are more columns than ``n_positions``, an id is not in the vocabulary, or a row has
            padding behind a token, or no token.
    """
    check_length(input_ids.shape[-1], config)
    is_token = input_ids != PADDING
    check_token_ids(input_ids[is_token], config)
    if not (is_token.any(axis=-1).all() and (is_token == np.sort(is_token, axis=-1)).all()):
        raise ValueError(
            "a row has padding where a token should be; every row needs a token, and padding only before it"
        )


class CachedModel:
    """The model as step 12 wants it, a function of all token ids, which runs only those that it has not run before."""

    def __init__(self, graph: CachedGraph, config: GPT2Config, device: Device) -> None:
        self.graph, self.config, self.device = graph, config, device
        self.cached_ids = np.zeros((0, 0), np.int64)  # [batch, past]: the tokens whose keys and values the cache holds
        self.cache: KVCache = []

    def __call__(self, input_ids: np.ndarray) -> np.ndarray:  # [batch, total] -> [batch, 1, vocab]
        """Return the logits after the last token; ``PADDING`` may stand in front of a row's tokens.

        The text of step 12 slides when the context is full, which moves every token to another position:
        what the cache holds no longer agrees, and nearly all of it runs again, as without a cache.

        Raises:
            ValueError: ``check_rows`` refuses a row.
        """
        check_rows(input_ids, self.config)
        if len(input_ids) != len(self.cached_ids):
            self.cache = empty_cache(self.config, len(input_ids), device=self.device)
            self.cached_ids = input_ids[:, :0]
        past = self.cached_prefix_length(input_ids)
        self.cached_ids = input_ids[:, :past].copy()  # all that can be relied on if the run below is broken off
        logits = self.run(input_ids, past)
        self.cached_ids = input_ids.copy()
        return logits

    def cached_prefix_length(self, input_ids: np.ndarray) -> int:  # [batch, total]
        """Count the leading columns that the cache holds, never including the last token: it has to run for logits."""
        length = min(input_ids.shape[-1] - 1, self.cached_ids.shape[-1])
        same = (input_ids[:, :length] == self.cached_ids[:, :length]).all(axis=0)
        return int(same.cumprod().sum())  # those before the first that differs

    def run(self, input_ids: np.ndarray, past: int) -> np.ndarray:  # [batch, total] -> [batch, 1, vocab]
        """Run the tokens after the ``past`` ones that the cache holds."""
        is_token = input_ids != PADDING
        position_ids = np.maximum(is_token.cumsum(axis=-1) - 1, 0)  # a row's first token is at position 0
        # Finite, since a row of padding sees padding alone, and a softmax of nothing but -inf is NaN.
        padding_mask = np.where(is_token, 0, -1e9).astype(np.float32)
        ids = np.where(is_token, input_ids, 0)  # padding is looked up too, and no token looks at it
        return self.graph(ids[:, past:], position_ids[:, past:], padding_mask, self.cache)


def on_arrays(compiled: Callable[..., Tensor], device: Device) -> CachedGraph:
    """Make a compiled ``CachedGPT2`` a function of arrays; the cache stays where it is."""

    def run(input_ids: np.ndarray, position_ids: np.ndarray, padding_mask: np.ndarray, cache: KVCache) -> np.ndarray:
        arrays = (np.array(array, order="C") for array in (input_ids, position_ids, padding_mask))
        return compiled(*(Tensor.from_dlpack(array).to(device) for array in arrays), cache).to_numpy()

    return run
