"""Step 18: attention backward, where the loss at one token reaches every token that it looked at."""

from __future__ import annotations

import math

from max.experimental import functional as F
from max.experimental.tensor import Tensor

from solutions.gradients import Tensors, prefixed, projection_backward
from solutions.solution_02 import causal_mask
from solutions.solution_07 import GPT2MultiHeadAttention


def attention_weights(
    query: Tensor, key: Tensor
) -> Tensor:  # 2 x [batch, head, seq, head_dim] -> [batch, head, seq, seq]
    """Return the weights that ``_attn`` computed in the forward pass, once more."""
    # TODO: As in step 07: scores, divided by sqrt(head_dim), plus the causal mask; then the softmax. (2 lines)
    raise NotImplementedError


def softmax_backward(grad: Tensor, weights: Tensor) -> Tensor:  # 2 x [..., key] -> [..., key]
    """Return the gradient of the scores; a weight of 0, as the mask leaves it, lets nothing through."""
    # TODO: weights * (grad - the sum of weights * grad over the last axis) (1 line)
    raise NotImplementedError


def heads_backward(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:  # 4 x [batch, head, seq, head_dim] -> 3 x the same
    """Return the gradients of query, key and value, where grad is that of ``_attn``'s output."""
    weights = attention_weights(query, key)
    # TODO: Go back through weights @ value, the softmax, the division, and query @ key. (5 lines)
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
    parts = F.split(attention.c_attn(hidden_states), [hidden_states.shape[-1]] * 3, axis=-1)
    query, key, value = map(attention._split_heads, parts)
    merged = attention._merge_heads(
        attention._attn(query, key, value, causal_mask(grad.shape[-2], 0, dtype=grad.dtype, device=grad.device))
    )
    # TODO: Go back through c_proj, merge, heads, split, and c_attn; name the gradients of both layers. (5 lines)
    raise NotImplementedError
