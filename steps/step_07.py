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
        # TODO: Make the linear layers c_attn (query, key and value in one) and c_proj, both with a bias. (2 lines)
        raise NotImplementedError

    def _split_heads(
        self, tensor: Tensor, num_heads: int | None = None, attn_head_size: int | None = None
    ) -> Tensor:  # [batch, seq, embd] -> [batch, head, seq, head_dim]
        """Give every head its own slice of the embedding."""
        num_heads, attn_head_size = num_heads or self.num_heads, attn_head_size or self.head_dim
        # TODO: Cut the last axis into (head, head_dim), then bring head in front of seq. (2 lines)
        raise NotImplementedError

    def _merge_heads(
        self, tensor: Tensor, num_heads: int | None = None, attn_head_size: int | None = None
    ) -> Tensor:  # [batch, head, seq, head_dim] -> [batch, seq, embd]
        """Put the heads side by side again: the inverse of ``_split_heads``."""
        num_heads, attn_head_size = num_heads or self.num_heads, attn_head_size or self.head_dim
        # TODO: Bring seq back in front of head, then join the last two axes into one. (2 lines)
        raise NotImplementedError

    def _attn(
        self, query: Tensor, key: Tensor, value: Tensor
    ) -> Tensor:  # three times [batch, head, seq, head_dim] -> [batch, head, seq, head_dim]
        """Compute scaled dot-product attention under the causal mask, all heads at once."""
        # TODO: Scores [batch, head, seq, seq], over sqrt(head_dim), plus mask, softmax, times value. (5 lines)
        raise NotImplementedError

    def forward(self, hidden_states: Tensor) -> Tensor:  # [batch, seq, embd] -> [batch, seq, embd]
        """Let every token gather from the tokens up to itself."""
        # TODO: Project, split into query, key and value, split heads, attend, merge heads, project. (6 lines)
        raise NotImplementedError
