"""Step 14: the KV cache, which keeps the keys and values of earlier tokens, so that only the new ones have to run."""

from __future__ import annotations

from typing import Any

from max.driver import Device
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor
from max.graph import BufferType, DeviceRef, Dim, DimLike, TensorType, TensorValue

from solutions.caching import CachedModel, KVCache, on_arrays
from solutions.solution_06 import position_ids
from solutions.solution_07 import GPT2MultiHeadAttention
from solutions.solution_11 import MaxGPT2LMHeadModel


def store(
    cache: Tensor, new: Tensor, past: DimLike
) -> None:  # [batch, head, n_positions, head_dim], [batch, head, seq, head_dim]
    """Write the keys or values of new tokens into the cache, in place, behind those of ``past`` earlier tokens."""
    sequence_length = new.shape[-2]
    first = TensorValue(Dim(past))  # a symbol, as a number that the graph computes
    end = TensorValue(Dim(past) + sequence_length)
    # Assign to the slots first … end of axis 2; MAX wants them as (slice, length). (1 line)
    cache[:, :, (slice(first, end), sequence_length)] = new


def cache_mask(sequence_length: DimLike, padding_mask: Tensor) -> Tensor:  # [batch, total] -> [batch, 1, seq, total]
    """Return the mask of the last ``sequence_length`` of ``total`` tokens, which may look at those before them too.

    ``padding_mask`` is 0 for a token and a large negative number for padding, which no token looks at.
    """
    total = padding_mask.shape[-1]
    keys = position_ids(total, device=padding_mask.device)  # [total]
    # Hide the keys that come after each query; all others are as padding_mask has them. (3 lines)
    queries = keys[total - sequence_length :].unsqueeze(-1)  # [seq, 1]
    mask = F.where(keys > queries, float("-inf"), padding_mask.unsqueeze(1))  # [batch, seq, total]
    return mask.unsqueeze(1)


def cached_attention(
    attention: GPT2MultiHeadAttention, hidden_states: Tensor, keys: Tensor, values: Tensor, mask: Tensor
) -> Tensor:  # [batch, seq, embd] -> [batch, seq, embd]
    """Run step 07's attention of the new tokens; the keys and values of all earlier ones come from the cache.

    Args:
        attention: the module with the weights.
        hidden_states: the new tokens.
        keys: this block's keys, ``[batch, head, n_positions, head_dim]``; those of the new tokens are written into it.
        values: its values, likewise.
        mask: ``[batch, 1, seq, total]``; its last axis says how many tokens there are, old and new.
    """
    total = mask.shape[-1]
    past = total - hidden_states.shape[-2]
    query, key, value = attention._qkv(hidden_states)  # 3 x [batch, head, seq, head_dim]
    # Store key and value; _attn of query and the first total slots; merge the heads, project. (5 lines)
    store(keys, key, past)
    store(values, value, past)
    attn_output = attention._attn(query, keys[:, :, :total], values[:, :, :total], mask)
    attn_output = attention._merge_heads(attn_output)
    return attention.c_proj(attn_output)


class CachedGPT2(Module[[Tensor, Tensor, Tensor, KVCache], Tensor]):
    """GPT-2 that is shown only the new tokens. It has no weights of its own; it uses those of step 11's model.

    The arguments mirror those of Hugging Face's ``GPT2LMHeadModel``: ``input_ids``, ``position_ids``, a mask over
    all tokens, which is added here, and ``past_key_values``, which is the cache.
    """

    def __init__(self, model: MaxGPT2LMHeadModel) -> None:
        self.model = model

    def forward(
        self, input_ids: Tensor, position_ids: Tensor, padding_mask: Tensor, cache: KVCache
    ) -> Tensor:  # [batch, seq], [batch, seq], [batch, total] -> [batch, 1, vocab]
        """Return the logits after the last token, and leave keys and values of the new tokens in the cache."""
        transformer = self.model.transformer
        mask = cache_mask(input_ids.shape[-1], padding_mask)  # [batch, 1, seq, total]
        # Embed; blocks as in step 09, with cached_attention; ln_f and head of the last token alone. (5 lines)
        x = transformer.wte(input_ids) + transformer.wpe(position_ids)  # [batch, seq, embd]
        for block, (keys, values) in zip(transformer.h, cache, strict=True):
            x = x + cached_attention(block.attn, block.ln_1(x), keys, values, mask)
            x = x + block.mlp(block.ln_2(x))
        return self.model.lm_head(transformer.ln_f(x[:, -1:]))


def compile_cached(model: MaxGPT2LMHeadModel, device: Device) -> CachedModel:
    """Compile the model with a cache for a device: one graph for the prompt and for every token after it."""
    config = model.config
    ref = DeviceRef.from_device(device)
    ids = TensorType(DType.int64, ["batch", "seq"], ref)
    mask = TensorType(DType.float32, ["batch", "total"], ref)
    # A graph writes to a BufferType: two for each block. Compile for four inputs; wrap with on_arrays. (4 lines)
    buffer = BufferType(DType.float32, ["batch", config.n_head, config.n_positions, config.head_dim], ref)
    cache: Any = [(buffer, buffer)] * config.n_layer
    compiled = CachedGPT2(model).compile(ids, ids, mask, cache)
    return CachedModel(on_arrays(compiled, device), config, device)
