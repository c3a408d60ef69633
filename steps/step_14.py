"""Step 14: the KV cache, which keeps the keys and values of earlier tokens, so that only the new ones have to run."""

from __future__ import annotations

from functools import partial

import numpy as np
from max.driver import Device
from max.dtype import DType
from max.experimental.nn import Module
from max.experimental.tensor import Tensor, TensorType
from max.graph import DimLike

from solutions.caching import (
    BlockCache,
    CachedFunction,
    KVCache,
    cache_type,
    check_rows,
    empty_cache,
    run_on_arrays,
    update_cache,
)
from solutions.solution_01 import GPT2Config
from solutions.solution_02 import causal_mask
from solutions.solution_07 import GPT2MultiHeadAttention
from solutions.solution_08 import pre_norm_residual
from solutions.solution_11 import MaxGPT2LMHeadModel


def cache_mask(sequence_length: DimLike, padding_mask: Tensor) -> Tensor:  # [batch, total] -> [batch, 1, seq, total]
    """Return the mask of the last ``sequence_length`` of ``total`` tokens: each may look at itself and those before it.

    ``padding_mask`` is 0 for a token and a large negative number for padding; a row of nothing but -inf would be NaN.
    Add the axis of the heads after the sum: if broadcasting adds it, MAX 26.7 may drop the causal mask.
    """
    total = padding_mask.shape[-1]
    causal = causal_mask(total, dtype=padding_mask.dtype, device=padding_mask.device)  # [total, total]
    # TODO: Keep the rows of the new tokens, and hide from them what padding_mask hides. (3 lines)
    raise NotImplementedError


def cached_attention(
    attention: GPT2MultiHeadAttention, hidden_states: Tensor, *, mask: Tensor, block_cache: BlockCache
) -> Tensor:  # [batch, seq, embd], [batch, 1, seq, total] -> [batch, seq, embd]
    """Let each of ``seq`` new tokens gather from all ``total`` tokens up to itself, old and new.

    The keys and values of the old ones come from this block's cache, and those of the new ones are written into it.
    """
    # TODO: Attend from the new tokens to all tokens, old and new. (4 lines)
    raise NotImplementedError


class CachedGPT2(Module[[Tensor, Tensor, Tensor, KVCache], Tensor]):
    """GPT-2 that is shown only the new tokens. It has no weights of its own: it runs the model's blocks, with a cache.

    Hugging Face's ``attention_mask`` is 1 for a token, 0 for padding; ``padding_mask`` is what is added to the scores.
    """

    def __init__(self, model: MaxGPT2LMHeadModel) -> None:
        self.transformer = model.transformer
        self.lm_head = model.lm_head

    def forward(
        self, input_ids: Tensor, positions: Tensor, padding_mask: Tensor, cache: KVCache
    ) -> Tensor:  # 2 x int64 [batch, seq], [batch, total] -> [batch, 1, vocab]
        """Return the logits after the last token, and leave keys and values of the new tokens in the cache."""
        mask = cache_mask(input_ids.shape[-1], padding_mask)  # [batch, 1, seq, total]
        # TODO: Run the model on the new tokens; the head is needed for the last one alone. (6 lines)
        raise NotImplementedError


def cached_prefix_length(cached_ids: np.ndarray, input_ids: np.ndarray) -> int:  # [batch, past], [batch, total] -> past
    """Count the leading tokens whose keys and values the cache holds; in a batch, only those that every row has.

    The last token is never among them: it has to run, for its logits.
    """
    # TODO: Compare the two over their common length, column by column; count up to the first difference. (3 lines)
    raise NotImplementedError


class CachedModel:
    """The model as generation wants it, a function of all token ids, which runs only those that it has not run yet."""

    def __init__(self, run: CachedFunction, config: GPT2Config, device: Device) -> None:
        self.run = run
        self.config = config
        self.device = device
        self.cached_ids = np.zeros((0, 0), np.int64)  # [batch, past]: the tokens whose keys and values the cache holds
        self.cache: KVCache = []

    def __call__(self, input_ids: np.ndarray) -> np.ndarray:  # int64 [batch, total] -> [batch, 1, vocab]
        """Return the logits after the last token; ``PADDING`` may stand in front of a row's tokens.

        When the context is full, the text slides: every token moves one column left, so nearly all of it runs again.
        """
        check_rows(input_ids, self.config)
        if len(input_ids) != len(self.cached_ids):
            self.cache = empty_cache(self.config, len(input_ids), self.device)
            self.cached_ids = input_ids[:, :0]
        past = cached_prefix_length(self.cached_ids, input_ids)
        self.cached_ids = input_ids[:, :past].copy()  # all that is still valid if the run below is interrupted
        logits = self.run(input_ids, past, self.cache)
        self.cached_ids = input_ids.copy()
        return logits


def compile_cached(model: MaxGPT2LMHeadModel, device: Device) -> CachedModel:
    """Move a float32 model to the device and compile it with a cache: one graph for the prompt and all later tokens."""
    model.to(device)
    ids = TensorType(DType.int64, ["batch", "seq"], device=device)
    padding_mask = TensorType(DType.float32, ["batch", "total"], device=device)
    compiled = CachedGPT2(model).compile(ids, ids, padding_mask, cache_type(model.config, device))
    return CachedModel(run_on_arrays(compiled, device), model.config, device)
