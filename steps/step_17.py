"""Step 17: the parts backward, from the gradient of a part's output to the gradients of its inputs."""

from __future__ import annotations

import math

from max.experimental import functional as F
from max.experimental.tensor import Tensor


def rows_of(x: Tensor) -> Tensor:  # [..., channels] -> [rows, channels]
    """Return the tokens of all sequences as one matrix: a weight treats them all alike."""
    return x.reshape([-1, x.shape[-1]])


def sum_over_rows(x: Tensor) -> Tensor:  # [..., channels] -> [channels]
    """Return the sum over all tokens: a parameter that every token uses gets a gradient from each."""
    # TODO: Add up each channel over all tokens. (1 line)
    raise NotImplementedError


def linear_backward(
    grad: Tensor, x: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor]:  # [..., out], [..., in], [out, in] -> [..., in], [out, in], [out]
    """Return the gradients of ``x``, weight and bias, where ``grad`` is that of ``x @ weight.T + bias``."""
    # TODO: Find the gradients of x, weight and bias; every token has a part in the last two. (3 lines)
    raise NotImplementedError


def gelu_backward(grad: Tensor, x: Tensor) -> Tensor:  # [...], [...] -> [...]
    """Return the gradient of ``x``, where ``grad`` is that of ``0.5 * x * (1 + tanh(u))``: GELU, as step 04 has it."""
    factor, cubic = math.sqrt(2 / math.pi), 0.044715
    u = factor * (x + cubic * x * x * x)
    tanh = F.tanh(u)
    # TODO: Differentiate GELU: x is used twice, in front and inside u. Multiply by grad. (3 lines)
    raise NotImplementedError


def layer_norm_backward(
    grad: Tensor, x: Tensor, weight: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:  # [..., dim], [..., dim], [dim] -> [..., dim], [dim], [dim]
    """Return the gradients of ``x``, weight and bias, where ``grad`` is that of ``(x - mean) * rstd * weight + bias``.

    A token's mean and variance depend on all its channels, so each channel's gradient depends on those of all.
    """
    centered = x - F.mean(x, axis=-1)
    rstd = F.rsqrt(F.mean(centered * centered, axis=-1) + eps)  # [..., 1]: 1 over the standard deviation
    normalized = centered * rstd
    # TODO: Remove from the gradient of normalized what the norm ignores, the shift and the stretch. (4 lines)
    raise NotImplementedError


def embedding_backward(
    grad: Tensor, indices: Tensor, num_embeddings: int
) -> Tensor:  # [batch, seq, embd], int64 [batch, seq] -> [num_embeddings, embd]
    """Return the gradient of an embedding table: each row is the sum over the tokens that looked it up."""
    table = Tensor.zeros([num_embeddings, grad.shape[-1]], dtype=grad.dtype, device=grad.device)
    # TODO: Add the gradient of each token to the row that it looked up. (1 line)
    raise NotImplementedError
