"""Step 17: the parts backward, each of which takes the gradient of what it returned and gives that of what it took."""

from __future__ import annotations

import math

from max.experimental import functional as F
from max.experimental.tensor import Tensor


def rows_of(x: Tensor) -> Tensor:  # [..., channels] -> [rows, channels]
    """Return the tokens of all sequences, one below the other: to a weight they are all alike."""
    return x.reshape([-1, x.shape[-1]])


def sum_over_rows(x: Tensor) -> Tensor:  # [..., channels] -> [channels]
    """Return the sum over all tokens: a parameter that every token uses gets a gradient from each."""
    # Flatten to rows, then sum over axis 0; F.sum leaves an axis of 1, which goes. (1 line)
    return F.sum(rows_of(x), axis=0).reshape([x.shape[-1]])


def linear_backward(
    grad: Tensor, x: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor]:  # [..., out], [..., in], [out, in] -> [..., in], [out, in], [out]
    """Return the gradients of a linear layer's input, weight and bias, where grad is that of its output."""
    # The gradient times weight; its rows, transposed, times the rows of x; its sum over the rows. (3 lines)
    grad_x = grad @ weight
    grad_weight = rows_of(grad).transpose(0, 1) @ rows_of(x)
    return grad_x, grad_weight, sum_over_rows(grad)


def gelu_backward(grad: Tensor, x: Tensor) -> Tensor:  # [...], [...] -> [...]
    """Return the gradient of the input of GELU in its tanh approximation, 0.5 x (1 + tanh(u))."""
    slope, cubic = math.sqrt(2 / math.pi), 0.044715
    tanh = F.tanh(slope * (x + cubic * x * x * x))
    # The product rule: 0.5 (1 + tanh), plus 0.5 x (1 - tanh^2) times the derivative of what tanh is of. (3 lines)
    inner = slope * (1 + 3 * cubic * x * x)
    derivative = 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * inner
    return grad * derivative


def layer_norm_backward(
    grad: Tensor, x: Tensor, weight: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:  # [..., dim], [..., dim], [dim] -> [..., dim], [dim], [dim]
    """Return the gradients of a layer norm's input, weight and bias.

    A token's mean and variance move with each of its channels, so the gradient of one channel has a part in all.
    """
    centered = x - F.mean(x, axis=-1)
    scale = F.rsqrt(F.mean(centered * centered, axis=-1) + eps)
    normalized = centered * scale
    # Of grad times weight, take off its mean, and normalized times the mean of its product with normalized. (4 lines)
    inner = grad * weight
    along = normalized * F.mean(inner * normalized, axis=-1)
    grad_x = scale * (inner - F.mean(inner, axis=-1) - along)
    return grad_x, sum_over_rows(grad * normalized), sum_over_rows(grad)


def embedding_backward(
    grad: Tensor, input_ids: Tensor, vocab_size: int
) -> Tensor:  # [batch, seq, embd], [batch, seq] -> [vocab, embd]
    """Return the gradient of an embedding table: each row is the sum over the tokens that looked it up."""
    table = Tensor.zeros([vocab_size, grad.shape[-1]], dtype=grad.dtype, device=grad.device)
    # Add every token's gradient to the row of its id, with F.scatter_nd_add. (1 line)
    return F.scatter_nd_add(table, rows_of(grad), input_ids.reshape([-1, 1]))
