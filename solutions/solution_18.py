"""Step 18: attention backward, where the loss at one token reaches every token that it looked at."""

from __future__ import annotations

import math

from max.experimental import functional as F
from max.experimental.tensor import Tensor

from solutions.gradients import Tensors, named, projection_backward
from solutions.solution_02 import causal_mask
from solutions.solution_07 import GPT2MultiHeadAttention


def attention_weights(
    query: Tensor, key: Tensor
) -> Tensor:  # 2 x [batch, head, seq, head_dim] -> [batch, head, seq, seq]
    """Compute the attention weights of the forward pass once more."""
    # As in step 07: compute scores, divide by sqrt(head_dim), add the causal mask, take the softmax. (4 lines)
    scores = query @ key.transpose(-2, -1)  # [batch, head, seq, seq]
    scores = scores / math.sqrt(int(query.shape[-1]))
    mask = causal_mask(query.shape[-2], dtype=query.dtype, device=query.device)  # [seq, seq]
    return F.softmax(scores + mask)


def softmax_backward(grad: Tensor, weights: Tensor) -> Tensor:  # 2 x [..., key] -> [..., key]
    """Return the gradient of the scores; a weight of 0, as the mask leaves it, lets nothing through."""
    # weights * (grad - the sum of weights * grad over the last axis) (1 line)
    return weights * (grad - F.sum(weights * grad, axis=-1))


def heads_backward(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:  # 4 x [..., seq, head_dim], [..., seq, seq] -> 3 x [..., seq, head_dim]
    """Return the gradients of query, key and value, where grad is that of ``weights @ value``."""
    # Go back through weights @ value, the softmax, the division, and query @ key^T. (7 lines)
    grad_value = weights.transpose(-2, -1) @ grad  # [..., seq, head_dim]
    grad_weights = grad @ value.transpose(-2, -1)  # [..., seq, seq]
    grad_scores = softmax_backward(grad_weights, weights)
    grad_scores = grad_scores / math.sqrt(int(query.shape[-1]))
    grad_query = grad_scores @ key
    grad_key = grad_scores.transpose(-2, -1) @ query
    return grad_query, grad_key, grad_value


def attention_backward(
    grad: Tensor, hidden_states: Tensor, attention: GPT2MultiHeadAttention
) -> tuple[Tensor, Tensors]:  # 2 x [batch, seq, embd] -> [batch, seq, embd]
    """Return the gradient of step 07's input, and those of its four parameters by name.

    Args:
        grad: the gradient of the attention's output.
        hidden_states: its input, from which query, key, value and the merged heads are computed again.
        attention: the module, for its weights, and for its way of splitting and merging heads.
    """
    qkv = attention.c_attn(hidden_states)  # [batch, seq, 3 * embd]
    query, key, value = F.split(qkv, [hidden_states.shape[-1]] * 3, axis=-1)  # 3 x [batch, seq, embd]
    query, key, value = map(attention._split_heads, (query, key, value))
    weights = attention_weights(query, key)
    merged = attention._merge_heads(weights @ value)
    # Go back through c_proj, merge, heads, split, and c_attn; name the gradients of both layers. (5 lines)
    grad_merged, c_proj = projection_backward(grad, merged, attention.c_proj)
    grad_heads = heads_backward(attention._split_heads(grad_merged), query, key, value, weights)
    grad_qkv = F.concat([attention._merge_heads(part) for part in grad_heads], axis=-1)  # [batch, seq, 3 * embd]
    grad_input, c_attn = projection_backward(grad_qkv, hidden_states, attention.c_attn)
    return grad_input, named({"c_attn": c_attn, "c_proj": c_proj})
