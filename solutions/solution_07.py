"""Step 07: multi-head attention, where tokens look at each other."""

from __future__ import annotations

import math

from max.experimental import functional as F
from max.experimental.nn import Linear, Module
from max.experimental.tensor import Tensor

from solutions.solution_01 import GPT2Config
from solutions.solution_02 import causal_mask


class GPT2MultiHeadAttention(Module[[Tensor], Tensor]):
    """Causal multi-head self-attention: in each head, ``softmax(Q K^T / sqrt(head_dim) + mask) V``.

    Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.
    """

    def __init__(self, config: GPT2Config) -> None:
        self.embed_dim = config.n_embd
        self.num_heads = config.n_head
        self.head_dim = config.head_dim
        # Make the linear layers c_attn (query, key and value in one) and c_proj, both with a bias. (2 lines)
        self.c_attn = Linear(self.embed_dim, 3 * self.embed_dim)
        self.c_proj = Linear(self.embed_dim, self.embed_dim)

    def _split_heads(self, x: Tensor) -> Tensor:  # [..., seq, embd] -> [..., head, seq, head_dim]
        """Give every head its own slice of the embedding."""
        # Cut the last axis into (head, head_dim), then bring head in front of seq. (2 lines)
        x = x.reshape([*x.shape[:-1], self.num_heads, self.head_dim])  # [..., seq, head, head_dim]
        return x.transpose(-3, -2)

    def _merge_heads(self, x: Tensor) -> Tensor:  # [..., head, seq, head_dim] -> [..., seq, embd]
        """Put the heads side by side again: the inverse of ``_split_heads``."""
        # Bring seq back in front of head, then join the last two axes into one. (2 lines)
        x = x.transpose(-3, -2)  # [..., seq, head, head_dim]
        return x.reshape([*x.shape[:-2], self.embed_dim])

    def _qkv(
        self, hidden_states: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:  # [..., seq, embd] -> 3 x [..., head, seq, head_dim]
        """Return the query, the key and the value of every token, split into heads."""
        # Make all three with c_attn, cut them apart, and split each into heads. (3 lines)
        qkv = self.c_attn(hidden_states)  # [..., seq, 3 * embd]
        query, key, value = F.split(qkv, [self.embed_dim] * 3, axis=-1)  # 3 x [..., seq, embd]
        return self._split_heads(query), self._split_heads(key), self._split_heads(value)

    def _attention_weights(
        self, query: Tensor, key: Tensor, mask: Tensor
    ) -> Tensor:  # [..., seq, head_dim], [..., total, head_dim], [..., seq, total] -> [..., seq, total]
        """Return how much every query takes from every key; total is seq, unless earlier tokens are cached."""
        # Scale the scores, mask them, and turn them into weights. (2 lines)
        scores = query @ key.T / math.sqrt(self.head_dim)  # [..., seq, total]; .T swaps the last two axes
        return F.softmax(scores + mask, axis=-1)

    def _attn(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor
    ) -> Tensor:  # [..., seq, head_dim], 2 x [..., total, head_dim], [..., seq, total] -> [..., seq, head_dim]
        """Compute scaled dot-product attention; the mask is added to the scores."""
        # Give every query its weighted average of the values. (1 line)
        return self._attention_weights(query, key, mask) @ value

    def forward(self, hidden_states: Tensor) -> Tensor:  # [..., seq, embd] -> [..., seq, embd]
        """Let every token gather from the tokens up to itself."""
        mask = causal_mask(hidden_states.shape[-2], dtype=hidden_states.dtype, device=hidden_states.device)
        # Attend in all heads, put their outputs side by side, and mix them with c_proj. (3 lines)
        query, key, value = self._qkv(hidden_states)
        attn_output = self._merge_heads(self._attn(query, key, value, mask))
        return self.c_proj(attn_output)
