"""Step 07: multi-head attention, where tokens look at each other."""

from __future__ import annotations

import math

from max.experimental import functional as F
from max.experimental.nn import Linear, Module
from max.experimental.tensor import Tensor

from solutions.solution_01 import GPT2Config
from solutions.solution_02 import causal_mask


class GPT2MultiHeadAttention(Module[[Tensor], Tensor]):
    """Causal multi-head self-attention, with Hugging Face's names. Source: Vaswani et al. (2017), section 3.2."""

    def __init__(self, config: GPT2Config) -> None:
        self.embed_dim, self.num_heads, self.head_dim = config.n_embd, config.n_head, config.head_dim
        # Make the linear layers c_attn (query, key and value in one) and c_proj, both with a bias. (2 lines)
        self.c_attn = Linear(self.embed_dim, 3 * self.embed_dim)
        self.c_proj = Linear(self.embed_dim, self.embed_dim)

    def _split_heads(self, x: Tensor) -> Tensor:  # [batch, seq, embd] -> [batch, head, seq, head_dim]
        """Give every head its own slice of the embedding."""
        # Cut the last axis into (head, head_dim), then bring head in front of seq. (2 lines)
        x = x.reshape([*x.shape[:-1], self.num_heads, self.head_dim])  # [batch, seq, head, head_dim]
        return x.transpose(-3, -2)

    def _merge_heads(self, x: Tensor) -> Tensor:  # [batch, head, seq, head_dim] -> [batch, seq, embd]
        """Put the heads side by side again: the inverse of ``_split_heads``."""
        # Bring seq back in front of head, then join the last two axes into one. (2 lines)
        x = x.transpose(-3, -2)  # [batch, seq, head, head_dim]
        return x.reshape([*x.shape[:-2], self.embed_dim])

    def _attn(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:  # three times [batch, head, seq, head_dim] -> the same
        """Compute scaled dot-product attention, all heads at once, under the causal mask or another that is given."""
        if mask is None:
            mask = causal_mask(query.shape[-2], 0, dtype=query.dtype, device=query.device)  # [seq, seq]
        # Compute scores, divide by sqrt(head_dim), add the mask, take the softmax, multiply by value. (4 lines)
        scores = query @ key.transpose(-2, -1)  # [batch, head, seq, seq]
        scores = scores / math.sqrt(self.head_dim)
        scores = scores + mask
        return F.softmax(scores) @ value

    def forward(self, hidden_states: Tensor) -> Tensor:  # [batch, seq, embd] -> [batch, seq, embd]
        """Let every token gather from the tokens up to itself."""
        # Project, split into query, key and value, split heads, attend, merge heads, project. (4 lines)
        query, key, value = F.split(self.c_attn(hidden_states), [self.embed_dim] * 3, axis=-1)
        query, key, value = map(self._split_heads, (query, key, value))
        attn_output = self._merge_heads(self._attn(query, key, value))
        return self.c_proj(attn_output)
