"""Step 15: serving, the tokens of many requests in one row over a paged KV cache."""

from __future__ import annotations

import math
from typing import Protocol

from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor

from solutions.solution_01 import GPT2Config
from solutions.solution_06 import position_ids
from solutions.solution_07 import GPT2MultiHeadAttention
from solutions.solution_11 import MaxGPT2LMHeadModel


class PagedCache(Protocol):
    """Keys and values of every request in the batch, in pages that MAX hands out and takes back.

    ``row_offsets`` says which tokens are whose: request ``i`` has the rows ``row_offsets[i]`` up to
    ``row_offsets[i + 1]``, which is excluded. ``checker/max_adapter/paged_cache.py`` has the cache of MAX's server.
    Sources: Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (2023),
    for the pages; Yu et al., "Orca" (2022), for requests in one row, which attention alone takes apart.
    """

    lengths: Tensor  # [batch]: how many tokens of each request are in the cache already

    def store(self, layer: int, key: Tensor, value: Tensor, row_offsets: Tensor) -> None:
        """Write the new tokens' keys and values, both [tokens, head, head_dim], behind those of their requests."""

    def attend(self, layer: int, query: Tensor, row_offsets: Tensor, *, scale: float) -> Tensor:
        """Attend from every new token to what is stored of its own request, up to itself.

        ``query`` is [tokens, head, head_dim], and so is the result; the scores are multiplied by ``scale``.
        """


def ragged_positions(
    tokens: Tensor, row_offsets: Tensor, lengths: Tensor
) -> Tensor:  # [tokens], [batch + 1], [batch] -> [tokens]
    """Return every token's position in its own request, of which ``lengths`` tokens are in the cache already."""
    rows = position_ids(tokens.shape[0], device=tokens.device)  # [tokens]
    starts = row_offsets[:-1].cast(DType.int64)  # [batch]
    ends = row_offsets[1:].cast(DType.int64)  # [batch]
    lengths = lengths.cast(DType.int64)  # [batch]
    # request = number of ends at or before the row; position = row - start + length of its request. (3 lines)
    passed = rows.unsqueeze(-1) >= ends  # [tokens, batch]
    request = F.sum(passed.cast(DType.int64), axis=-1).squeeze(-1)  # [tokens]
    return rows - F.gather(starts, request, axis=0) + F.gather(lengths, request, axis=0)


def last_rows(hidden_states: Tensor, row_offsets: Tensor) -> Tensor:  # [tokens, embd], [batch + 1] -> [batch, embd]
    """Return the last token of every request: the only one whose logits anyone asks for."""
    # Gather the row before each request's end. (1 line)
    return F.gather(hidden_states, row_offsets[1:].cast(DType.int64) - 1, axis=0)


def paged_attention(
    attention: GPT2MultiHeadAttention, hidden_states: Tensor, row_offsets: Tensor, cache: PagedCache, layer: int
) -> Tensor:  # [tokens, embd] -> [tokens, embd]
    """Run ``attention`` on the tokens of many requests, with earlier tokens from the cache."""
    # Project, cut into heads, split; store, attend with 1 / sqrt(head_dim), join the heads, project. (7 lines)
    qkv = attention.c_attn(hidden_states)  # [tokens, 3 * embd]
    qkv = qkv.reshape([qkv.shape[0], 3 * attention.num_heads, attention.head_dim])  # [tokens, 3 * head, head_dim]
    query, key, value = F.split(qkv, [attention.num_heads] * 3, axis=1)  # 3 x [tokens, head, head_dim]
    cache.store(layer, key, value, row_offsets)
    attn_output = cache.attend(layer, query, row_offsets, scale=1 / math.sqrt(attention.head_dim))
    attn_output = attn_output.reshape(hidden_states.shape)  # [tokens, embd]
    return attention.c_proj(attn_output)


class ServedGPT2(Module[..., Tensor]):
    """GPT-2 for a server: the modules and the weights' names of step 11, without a batch axis."""

    def __init__(self, config: GPT2Config) -> None:
        # Take transformer and lm_head of a MaxGPT2LMHeadModel, so that step 13's weights fit. (2 lines)
        model = MaxGPT2LMHeadModel(config)
        self.transformer, self.lm_head = model.transformer, model.lm_head

    def forward(
        self, tokens: Tensor, row_offsets: Tensor, cache: PagedCache
    ) -> Tensor:  # [tokens], [batch + 1] -> [batch, vocab]
        """Return the logits of the token that follows each request."""
        transformer = self.transformer
        # Embed; a block is step 09's, with paged_attention; then the last rows, ln_f and the head. (6 lines)
        positions = ragged_positions(tokens, row_offsets, cache.lengths)
        x = transformer.wte(tokens) + transformer.wpe(positions)  # [tokens, embd]
        for layer, block in enumerate(transformer.h):
            x = x + paged_attention(block.attn, block.ln_1(x), row_offsets, cache, layer)
            x = x + block.mlp(block.ln_2(x))
        return self.lm_head(transformer.ln_f(last_rows(x, row_offsets)))
