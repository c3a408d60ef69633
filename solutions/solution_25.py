"""Step 25: grouped-query attention, in which several query heads share one key-value head."""

from __future__ import annotations

from max.experimental import functional as F
from max.experimental.nn import Linear
from max.experimental.tensor import Tensor

from solutions.caching import BlockCache, update_cache
from solutions.llama_config import LlamaConfig
from solutions.solution_07 import GPT2MultiHeadAttention
from solutions.solution_24 import rotate


class LlamaAttention(GPT2MultiHeadAttention):
    """Causal self-attention where each group of query heads shares a key-value head. Layers have Hugging Face's names.

    It has step 07's ``_attn`` and ``_merge_heads``, and keeps its keys and values in step 14's cache.
    Source: Ainslie et al., "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints"
    (2023).
    """

    def __init__(self, config: LlamaConfig) -> None:
        # Without super().__init__, which makes step 07's c_attn and c_proj: a Llama has neither.
        self.num_heads = config.num_attention_heads
        self.num_kv_heads = config.num_key_value_heads
        self.group_size = self.num_heads // self.num_kv_heads  # query heads that share a key-value head
        self.head_dim = config.head_dim
        self.embed_dim = self.num_heads * self.head_dim  # all heads side by side, as _merge_heads puts them
        kv_dim = self.num_kv_heads * self.head_dim
        # Make q_proj to embed_dim, k_proj, v_proj to kv_dim, o_proj to hidden_size, all without a bias. (4 lines)
        self.q_proj = Linear(config.hidden_size, self.embed_dim, bias=False)
        self.k_proj = Linear(config.hidden_size, kv_dim, bias=False)
        self.v_proj = Linear(config.hidden_size, kv_dim, bias=False)
        self.o_proj = Linear(self.embed_dim, config.hidden_size, bias=False)

    def _split_heads(self, x: Tensor) -> Tensor:  # [batch, seq, head * head_dim] -> [batch, head, seq, head_dim]
        """Give every head its own slice; the width says how many heads there are."""
        return x.reshape([*x.shape[:-1], -1, self.head_dim]).transpose(-3, -2)

    def _qkv(
        self, hidden_states: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:  # -> [batch, head, seq, head_dim], 2 x [batch, kv_head, seq, head_dim]
        """Return the query, the key and the value of every token, split into heads."""
        # Make each with its own projection, and split it into heads. (2 lines)
        query, key, value = self.q_proj(hidden_states), self.k_proj(hidden_states), self.v_proj(hidden_states)
        return self._split_heads(query), self._split_heads(key), self._split_heads(value)

    def _grouped_attn(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor
    ) -> Tensor:  # [batch, head, seq, head_dim], 2 x [batch, kv_head, total, head_dim] -> as query
        """Let every query head attend to the keys and values of its group.

        The heads of a group are neighbors along the head axis, so their queries can line up as if they were more
        tokens of one head. Then only the mask, ``[batch, 1, seq, total]``, is copied, no key or value; Hugging Face's
        ``repeat_kv`` copies one of each for every query head.
        """
        batch, _, sequence_length, head_dim = query.shape
        rows, total = self.group_size * sequence_length, mask.shape[-1]
        # Line up each group's queries; stack the mask group_size times; _attn; separate the heads. (4 lines)
        query = query.reshape([batch, self.num_kv_heads, rows, head_dim])
        mask = F.broadcast_to(mask, [batch, self.group_size, sequence_length, total]).reshape([batch, 1, rows, total])
        attn_output = self._attn(query, key, value, mask)  # [batch, kv_head, group_size * seq, head_dim]
        return attn_output.reshape([batch, self.num_heads, sequence_length, head_dim])

    def forward(  # type: ignore[override] # step 07's makes its own mask, and needs no angles and no cache
        self, hidden_states: Tensor, angles: Tensor, mask: Tensor, block_cache: BlockCache
    ) -> Tensor:  # [batch, seq, hidden_size] -> [batch, seq, hidden_size]
        """Let the new tokens gather from all tokens up to themselves; the earlier ones are in the cache.

        Args:
            hidden_states: the new tokens.
            angles: those of their positions, ``[batch, seq, head_dim / 2]``.
            mask: ``[batch, 1, seq, total]``; its last axis says how many tokens there are, old and new.
            block_cache: this block's rotated keys and its values. ``update_cache(block_cache, key, value, total)`` adds
                those of the new tokens, and returns all keys and values.
        """
        # Attend from the new tokens to all tokens, as in step 14; queries and keys are rotated. (5 lines)
        query, key, value = self._qkv(hidden_states)
        query, key = rotate(query, angles), rotate(key, angles)
        keys, values = update_cache(block_cache, key, value, mask.shape[-1])  # 2 x [batch, kv_head, total, head_dim]
        attn_output = self._merge_heads(self._grouped_attn(query, keys, values, mask))
        return self.o_proj(attn_output)
