"""Step 18: attention backward, where the loss at one token reaches every token that it looked at."""

from __future__ import annotations

import math

from max.experimental import functional as F
from max.experimental.tensor import Tensor

from solutions.gradients import Tensors, projection_backward, with_prefix
from solutions.solution_02 import causal_mask
from solutions.solution_07 import GPT2MultiHeadAttention


def softmax_backward(grad: Tensor, weights: Tensor) -> Tensor:  # 2 x [..., key] -> [..., key]
    """Return the gradient of scores; ``grad`` is that of ``weights = softmax(scores)``. A weight of 0 blocks it."""
    # Find how each score moves the loss, through all weights of its row. (1 line)
    return weights * (grad - F.sum(weights * grad, axis=-1))


def attn_backward(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:  # 4 x [..., seq, head_dim], [..., seq, seq] -> 3 x [..., seq, head_dim]
    """Return the gradients of query, key and value, where ``grad`` is that of ``weights @ value`` in ``_attn``."""
    head_dim = int(query.shape[-1])
    # Go back through step 07's attention, from its last operation to its first. (6 lines)
    grad_value = weights.T @ grad  # [..., seq, head_dim]
    grad_weights = grad @ value.T  # [..., seq, seq]
    grad_scores = softmax_backward(grad_weights, weights) / math.sqrt(head_dim)
    grad_query = grad_scores @ key
    grad_key = grad_scores.T @ query
    return grad_query, grad_key, grad_value


def attention_backward(
    attention: GPT2MultiHeadAttention, grad: Tensor, hidden_states: Tensor
) -> tuple[Tensor, Tensors]:  # 2 x [batch, seq, embd] -> [batch, seq, embd], and by name
    """Return the gradient of ``hidden_states``, and those of the four parameters of step 07 by name.

    ``grad`` is that of its output; everything between the two is computed again from ``hidden_states``.
    """
    mask = causal_mask(hidden_states.shape[-2], dtype=hidden_states.dtype, device=hidden_states.device)
    query, key, value = attention._qkv(hidden_states)  # 3 x [batch, head, seq, head_dim]
    weights = attention._attention_weights(query, key, mask)  # [batch, head, seq, seq]
    attn_output = attention._merge_heads(weights @ value)  # [batch, seq, embd]
    # Go back through both layers, and through the heads between them. (5 lines)
    grad_attn_output, c_proj_grads = projection_backward(attention.c_proj, grad, attn_output)
    parts = attn_backward(attention._split_heads(grad_attn_output), query, key, value, weights)
    grad_qkv = F.concat([attention._merge_heads(part) for part in parts], axis=-1)  # [batch, seq, 3 * embd]
    grad_hidden_states, c_attn_grads = projection_backward(attention.c_attn, grad_qkv, hidden_states)
    return grad_hidden_states, with_prefix({"c_attn": c_attn_grads, "c_proj": c_proj_grads})
