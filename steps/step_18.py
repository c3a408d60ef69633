"""Step 18: attention backward, where the loss at one token reaches every token that it looked at."""

from __future__ import annotations

import math

from max.experimental import functional as F
from max.experimental.tensor import Tensor

from solutions.solution_02 import causal_mask
from solutions.solution_07 import GPT2MultiHeadAttention
from solutions.solution_17 import linear_backward

Gradients = dict[str, Tensor]  # by the names of the weights


def attention_weights(
    query: Tensor, key: Tensor
) -> Tensor:  # two times [batch, head, seq, head_dim] -> [batch, head, seq, seq]
    """Return the weights that ``_attn`` computed on the way forward, once more."""
    # TODO: Scores over sqrt(head_dim), plus the causal mask, then softmax: step 07 without its last line. (2 lines)
    raise NotImplementedError


def softmax_backward(grad: Tensor, weights: Tensor) -> Tensor:  # two times [..., key] -> [..., key]
    """Return the gradient of the scores; a weight of 0, as the mask leaves it, lets nothing through."""
    # TODO: The weights, times what grad has beyond the sum of weights * grad over the row. (1 line)
    raise NotImplementedError


def heads_backward(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:  # four times [batch, head, seq, head_dim] -> three times the same
    """Return the gradients of query, key and value, where grad is that of ``_attn``'s result."""
    weights = attention_weights(query, key)
    # TODO: Back through weights @ value, then the softmax, then the scale, then the scores. (5 lines)
    raise NotImplementedError


def attention_backward(
    grad: Tensor, hidden_states: Tensor, attention: GPT2MultiHeadAttention
) -> tuple[Tensor, Gradients]:  # two times [batch, seq, embd] -> [batch, seq, embd]
    """Return the gradient of step 07's input, and those of its four parameters by name.

    Args:
        grad: the gradient of what the attention returned.
        hidden_states: what it took; everything in between is computed once more.
        attention: the module, for its weights and its way of splitting and merging heads.
    """
    parts = F.split(attention.c_attn(hidden_states), [attention.embed_dim] * 3, axis=-1)
    query, key, value = [attention._split_heads(part) for part in parts]
    merged = attention._merge_heads(attention._attn(query, key, value))
    # TODO: Back through c_proj; split; through the heads; merge; join; through c_attn; return all by name. (6 lines)
    raise NotImplementedError
