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
    # TODO: Find how each score moves the loss, through all weights of its row. (1 line)
    raise NotImplementedError


def attn_backward(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:  # 4 x [..., seq, head_dim], [..., seq, seq] -> 3 x [..., seq, head_dim]
    """Return the gradients of query, key and value, where ``grad`` is that of ``weights @ value`` in ``_attn``."""
    head_dim = int(query.shape[-1])
    # TODO: Go back through step 07's attention, from its last operation to its first. (6 lines)
    raise NotImplementedError


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
    # TODO: Go back through both layers, and through the heads between them. (5 lines)
    raise NotImplementedError
