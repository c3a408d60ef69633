"""Step 15: serving, the tokens of many requests in one sequence over a paged KV cache."""

from __future__ import annotations

import math
from functools import partial
from typing import Protocol

from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor

from solutions.solution_06 import position_ids
from solutions.solution_07 import GPT2MultiHeadAttention
from solutions.solution_08 import pre_norm_residual
from solutions.solution_11 import MaxGPT2LMHeadModel


class PagedCache(Protocol):
    """Keys and values of every request in the batch, in pages that MAX hands out and takes back.

    Request ``i`` has the tokens from ``row_offsets[i]`` up to, but not including, ``row_offsets[i + 1]``, at least one;
    ``row_offsets`` is uint32 [batch + 1]. The cache of MAX's server is in ``checker/max_adapter/paged_cache.py``.
    Sources: Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (2023); for
    the joined requests, Yu et al., "Orca: A Distributed Serving System for Transformer-Based Generative Models" (2022).
    """

    past: Tensor  # uint32 [batch]: how many tokens of each request are in the cache already

    def store(self, layer: int, key: Tensor, value: Tensor, row_offsets: Tensor) -> None:
        """Append the new tokens' keys and values, both [head, tokens, head_dim], to the pages of their requests."""

    def attend(self, layer: int, query: Tensor, row_offsets: Tensor, *, scale: float) -> Tensor:
        """Let each new token attend to its own request's stored tokens, up to and including itself.

        ``query`` is [head, tokens, head_dim], and so is the result; the scores are multiplied by ``scale``.
        """


def ragged_positions(
    rows: Tensor, row_offsets: Tensor, past: Tensor
) -> Tensor:  # int64 [tokens], uint32 [batch + 1], uint32 [batch] -> int64 [tokens]
    """Return the position that the token of each row has in its request, with ``past`` tokens in the cache already."""
    starts = row_offsets[:-1].cast(DType.int64)  # [batch]
    ends = row_offsets[1:].cast(DType.int64)  # [batch]
    past = past.cast(DType.int64)  # [batch]
    # TODO: Find each row's request, then count from that request's start. (3 lines)
    raise NotImplementedError


def last_rows(
    hidden_states: Tensor, row_offsets: Tensor
) -> Tensor:  # [tokens, embd], uint32 [batch + 1] -> [batch, embd]
    """Return the hidden state of every request's last token: the only one whose logits anyone asks for."""
    # TODO: Take the token before each request's end. (1 line)
    raise NotImplementedError


def paged_attention(
    attention: GPT2MultiHeadAttention, hidden_states: Tensor, *, cache: PagedCache, layer: int, row_offsets: Tensor
) -> Tensor:  # [tokens, embd], uint32 [batch + 1] -> [tokens, embd]
    """Run step 07's attention on the tokens of many requests, with earlier tokens from the cache."""
    # TODO: Let the cache attend in place of _attn. (4 lines)
    raise NotImplementedError


class ServedGPT2(Module[[Tensor, Tensor, PagedCache], Tensor]):
    """GPT-2 for a server: one axis holds the tokens of all requests. It has step 11's modules, under the same names."""

    def __init__(self, model: MaxGPT2LMHeadModel) -> None:
        self.transformer = model.transformer
        self.lm_head = model.lm_head

    def forward(
        self, input_ids: Tensor, row_offsets: Tensor, cache: PagedCache
    ) -> Tensor:  # int64 [tokens], uint32 [batch + 1] -> [batch, vocab]
        """Return the logits of the token that follows each request."""
        rows = position_ids(input_ids.shape[0], device=input_ids.device)  # [tokens]: 0, 1, 2, … through all requests
        # TODO: Run the model on all rows; the head is needed for the last one of each request. (7 lines)
        raise NotImplementedError
