"""A Llama for a server: step 25's attention over the paged cache of step 15."""

from __future__ import annotations

import math
from functools import partial
from typing import cast

from max.experimental.nn import Module
from max.experimental.tensor import Tensor

from solutions.llama import LlamaForCausalLM
from solutions.solution_06 import position_ids
from solutions.solution_08 import pre_norm_residual
from solutions.solution_15 import PagedCache, last_rows, ragged_positions
from solutions.solution_24 import rotary_angles, rotate
from solutions.solution_25 import LlamaAttention


def paged_attention(
    attention: LlamaAttention,
    hidden_states: Tensor,
    angles: Tensor,
    row_offsets: Tensor,
    cache: PagedCache,
    layer: int,
) -> Tensor:  # [1, tokens, hidden_size], [1, tokens, head_dim / 2] -> [1, tokens, hidden_size]
    """Run step 25's attention on the tokens of many requests, with earlier tokens from the cache.

    The cache has as many heads as the keys and values have, and finds the head of each query's group itself.
    """
    query, key, value = attention._qkv(hidden_states)  # [1, head, tokens, head_dim], 2 x [1, kv_head, tokens, head_dim]
    query, key = rotate(query, angles), rotate(key, angles)
    cache.store(layer, key.squeeze(0), value.squeeze(0), row_offsets)
    attn_output = cache.attend(layer, query.squeeze(0), row_offsets, scale=1 / math.sqrt(attention.head_dim))
    return attention.o_proj(attention._merge_heads(attn_output.unsqueeze(0)))


class ServedLlama(Module[[Tensor, Tensor, PagedCache], Tensor]):
    """A Llama for a server, with step 25's modules, under the same names.

    The tokens of all requests are the one row of a batch: its modules have that axis, and the cache has not.
    """

    def __init__(self, llama: LlamaForCausalLM) -> None:
        self.config, self.model, self.lm_head = llama.config, llama.model, llama.lm_head

    def forward(
        self, input_ids: Tensor, row_offsets: Tensor, cache: PagedCache
    ) -> Tensor:  # int64 [tokens], [batch + 1] -> [batch, vocab]
        """Return the logits of the token that follows each request."""
        rows = position_ids(input_ids.shape[0], device=input_ids.device)  # [tokens]
        positions = ragged_positions(rows, row_offsets, cache.past)
        angles = rotary_angles(positions.unsqueeze(0), self.config)  # [1, tokens, head_dim / 2]
        hidden_states = self.model.embed_tokens(input_ids).unsqueeze(0)  # [1, tokens, hidden_size]
        for layer, block in enumerate(self.model.layers):
            attention = cast(LlamaAttention, block.self_attn)
            attend = partial(
                paged_attention, attention, angles=angles, row_offsets=row_offsets, cache=cache, layer=layer
            )
            hidden_states = pre_norm_residual(hidden_states, block.input_layernorm, attend)
            hidden_states = pre_norm_residual(hidden_states, block.post_attention_layernorm, block.mlp)
        return self.lm_head(self.model.norm(last_rows(hidden_states.squeeze(0), row_offsets)))
