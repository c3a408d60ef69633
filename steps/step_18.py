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
    # TODO: As in step 07: compute scores, divide by sqrt(head_dim), add the causal mask, take the softmax. (4 lines)
    raise NotImplementedError


def softmax_backward(grad: Tensor, weights: Tensor) -> Tensor:  # 2 x [..., key] -> [..., key]
    """Return the gradient of the scores; a weight of 0, as the mask leaves it, lets nothing through."""
    # TODO: weights * (grad - the sum of weights * grad over the last axis) (1 line)
    raise NotImplementedError


def heads_backward(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:  # 4 x [..., seq, head_dim], [..., seq, seq] -> 3 x [..., seq, head_dim]
    """Return the gradients of query, key and value, where grad is that of ``weights @ value``."""
    # TODO: Go back through weights @ value, the softmax, the division, and query @ key^T. (7 lines)
    raise NotImplementedError


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
    # TODO: Go back through c_proj, merge, heads, split, and c_attn; name the gradients of both layers. (5 lines)
    raise NotImplementedError
