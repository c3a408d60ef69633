"""Given in steps 18 to 20: tensors by the names of weights, and backward through a Linear and a LayerNorm."""

from __future__ import annotations

from max.experimental.nn import Linear
from max.experimental.tensor import Tensor

from solutions.solution_03 import LayerNorm
from solutions.solution_17 import layer_norm_backward, linear_backward

Tensors = dict[str, Tensor]  # by the names of weights: weights, gradients or moving averages


def with_prefix(parts: dict[str, Tensors]) -> Tensors:
    """Return the tensors of all parts by their names in the module: ``weight`` of ``ln_1`` becomes ``ln_1.weight``."""
    return {f"{part}.{name}": tensor for part, tensors in parts.items() for name, tensor in tensors.items()}


def projection_backward(
    linear: Linear, grad: Tensor, x: Tensor
) -> tuple[Tensor, Tensors]:  # [..., out], [..., in] -> [..., in], and by name
    """Return the gradient of a linear layer's input, and those of its weight and bias by name."""
    grad_x, grad_weight, grad_bias = linear_backward(grad, x, linear.weight)
    return grad_x, {"weight": grad_weight, "bias": grad_bias}


def norm_backward(
    norm: LayerNorm, grad: Tensor, x: Tensor
) -> tuple[Tensor, Tensors]:  # 2 x [..., dim] -> [..., dim], and by name
    """Return the gradient of a norm's input, and those of its weight and bias by name."""
    grad_x, grad_weight, grad_bias = layer_norm_backward(grad, x, norm.weight, norm.eps)
    return grad_x, {"weight": grad_weight, "bias": grad_bias}
