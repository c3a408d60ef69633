"""Step 07: multi-head attention, where tokens look at each other."""

from __future__ import annotations

import math

from max.experimental import functional as F
from max.experimental.nn import Linear, Module
from max.experimental.tensor import Tensor

from solutions.solution_01 import GPT2Config
from solutions.solution_02 import causal_mask


class GPT2MultiHeadAttention(Module[[Tensor], Tensor]):
    """Causal multi-head self-attention, with Hugging Face's names and numbers.

    Every head looks at the sequence through its own ``head_dim`` numbers of query, key and value;
    ``c_proj`` mixes what the heads found. Source: Vaswani et al., "Attention Is All You Need"
    (2017), section 3.2, and ``GPT2Attention`` in Hugging Face's transformers.
    """

    def __init__(self, config: GPT2Config) -> None:
        self.embed_dim = config.n_embd
        self.num_heads = config.n_head
        self.head_dim = config.head_dim
        self.split_size = self.embed_dim
        # Make the linear layers c_attn (query, key and value in one) and c_proj, both with a bias. (2 lines)
        self.c_attn = Linear(self.embed_dim, 3 * self.embed_dim)
        self.c_proj = Linear(self.embed_dim, self.embed_dim)

    def _split_heads(
        self, tensor: Tensor, num_heads: int | None = None, attn_head_size: int | None = None
    ) -> Tensor:  # [batch, seq, embd] -> [batch, head, seq, head_dim]
        """Give every head its own slice of the embedding."""
        num_heads, attn_head_size = num_heads or self.num_heads, attn_head_size or self.head_dim
        # Cut the last axis into (head, head_dim), then bring head in front of seq. (2 lines)
        tensor = tensor.reshape([*tensor.shape[:-1], num_heads, attn_head_size])
        return tensor.transpose(-3, -2)

    def _merge_heads(
        self, tensor: Tensor, num_heads: int | None = None, attn_head_size: int | None = None
    ) -> Tensor:  # [batch, head, seq, head_dim] -> [batch, seq, embd]
        """Put the heads side by side again: the inverse of ``_split_heads``."""
        num_heads, attn_head_size = num_heads or self.num_heads, attn_head_size or self.head_dim
        # Bring seq back in front of head, then join the last two axes into one. (2 lines)
        tensor = tensor.transpose(-3, -2)
        return tensor.reshape([*tensor.shape[:-2], num_heads * attn_head_size])

    def _attn(
        self, query: Tensor, key: Tensor, value: Tensor
    ) -> Tensor:  # three times [batch, head, seq, head_dim] -> [batch, head, seq, head_dim]
        """Compute scaled dot-product attention under the causal mask, all heads at once."""
        # Scores [batch, head, seq, seq], over sqrt(head_dim), plus mask, softmax, times value. (5 lines)
        scores = query @ key.transpose(-2, -1)
        scores = scores / math.sqrt(int(value.shape[-1]))
        scores = scores + causal_mask(query.shape[-2], 0, dtype=query.dtype, device=query.device)
        weights = F.softmax(scores)
        return weights @ value

    def forward(self, hidden_states: Tensor) -> Tensor:  # [batch, seq, embd] -> [batch, seq, embd]
        """Let every token gather from the tokens up to itself."""
        # Project, split into query, key and value, split heads, attend, merge heads, project. (6 lines)
        query, key, value = F.split(self.c_attn(hidden_states), [self.split_size] * 3, axis=-1)
        query = self._split_heads(query)
        key = self._split_heads(key)
        value = self._split_heads(value)
        attn_output = self._merge_heads(self._attn(query, key, value))
        return self.c_proj(attn_output)
