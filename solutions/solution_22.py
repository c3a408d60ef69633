"""Step 22: small weights, in blocks of 32 that share a scale: 8 or 4 bits for each weight, and 16 for the scale."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from max.experimental import functional as F
from max.experimental.nn import Linear, Module
from max.experimental.tensor import Tensor
from max.graph.quantization import QuantizationEncoding

from solutions.checkpoint import Weights, check_weights, empty_model
from solutions.solution_01 import GPT2Config
from solutions.solution_11 import MaxGPT2LMHeadModel

BLOCK = 32  # weights that share a scale
OUTPUTS = 32  # MAX computes so many at a time, so a quantized layer is padded to a multiple

#: The blocks of llama.cpp, of 34 and 18 bytes: a byte of Q4_0 holds two steps. The scale's axis lets it broadcast.
Q8_0 = np.dtype([("scale", np.float16, (1,)), ("steps", np.int8, (BLOCK,))])
Q4_0 = np.dtype([("scale", np.float16, (1,)), ("steps", np.uint8, (BLOCK // 2,))])


def inverse(scales: np.ndarray) -> np.ndarray:  # [..., 1] -> [..., 1]
    """Return 1 / scale, or 0 for a block of zeros. llama.cpp multiplies by it; a division would round differently."""
    return np.divide(1, scales, out=np.zeros_like(scales), where=scales != 0)


def roundf(numbers: np.ndarray) -> np.ndarray:  # [...] -> [...]
    """Round to whole numbers as C does, halves away from 0; ``np.rint`` rounds them to the even one."""
    return np.trunc(numbers.astype(np.float64) + np.copysign(0.5, numbers))  # in float32, 0.49999997 + 0.5 is 1


def quantize_q8_0(numbers: np.ndarray) -> np.ndarray:  # [..., 32] -> [...] of Q8_0
    """Round to 8 bits: -127 to 127 steps of the scale.

    A number halfway between two steps goes away from 0. Source: ``quantize_row_q8_0_ref`` of llama.cpp.
    """
    blocks = np.zeros(numbers.shape[:-1], Q8_0)
    # scale = largest magnitude / 127. Multiply by its inverse, round with roundf, fill blocks. (5 lines)
    scales = np.abs(numbers).max(axis=-1, keepdims=True) / 127  # [..., 1]
    steps = roundf(numbers * inverse(scales))  # [..., 32]
    blocks["scale"] = scales
    blocks["steps"] = steps
    return blocks


def dequantize_q8_0(blocks: np.ndarray) -> np.ndarray:  # [...] of Q8_0 -> [..., 32]
    """Return the numbers that blocks of 8 bits stand for, as float32."""
    # Multiply the steps by the scale, as float32. (1 line)
    return blocks["scale"].astype(np.float32) * blocks["steps"]


def quantize_q4_0(numbers: np.ndarray) -> np.ndarray:  # [..., 32] -> [...] of Q4_0
    """Round to 4 bits: -8 to 7 steps of the scale, stored as 0 to 15.

    The scale has a sign, so that the first number of the largest magnitude is step -8. A number halfway between two
    steps goes to the higher one. The first 16 steps are the low halves of the 16 bytes, the last 16 the high halves.
    Source: ``quantize_row_q4_0_ref`` of llama.cpp.
    """
    blocks = np.zeros(numbers.shape[:-1], Q4_0)
    half = BLOCK // 2
    # scale = number of largest magnitude / -8. Times its inverse, plus 8, halves up, clip to 15, pack. (6 lines)
    index = np.abs(numbers).argmax(axis=-1, keepdims=True)  # [..., 1]
    scales = np.take_along_axis(numbers, index, axis=-1) / -8  # [..., 1]
    steps = np.floor(numbers * inverse(scales) + 8.5).clip(0, 15).astype(np.uint8)  # [..., 32]
    blocks["scale"] = scales
    blocks["steps"] = steps[..., :half] | steps[..., half:] << 4
    return blocks


def dequantize_q4_0(blocks: np.ndarray) -> np.ndarray:  # [...] of Q4_0 -> [..., 32]
    """Return the numbers that blocks of 4 bits stand for, as float32."""
    # Put all low halves before all high ones, subtract 8, and multiply by the scale, as float32. (2 lines)
    steps = np.concatenate([blocks["steps"] & 15, blocks["steps"] >> 4], axis=-1)
    return blocks["scale"].astype(np.float32) * (steps.astype(np.int8) - 8)


def quantize_weights(weights: Weights, format: str) -> Weights:
    """Return the weights of a model, with its matrices in blocks, ``[out, in / 32]`` of ``Q8_0`` or ``Q4_0``.

    ``wpe`` keeps its numbers, as in llama.cpp, and so does a matrix whose rows blocks do not fit into.

    Raises:
        KeyError: there is no such format.
    """
    quantize = {"Q8_0": quantize_q8_0, "Q4_0": quantize_q4_0}[format]
    quantized = dict(weights)
    for name, weight in weights.items():
        if weight.ndim == 2 and weight.shape[1] % BLOCK == 0 and not name.endswith("wpe.weight"):
            quantized[name] = quantize(weight.reshape(len(weight), -1, BLOCK))
    return quantized


def dequantize(weight: np.ndarray) -> np.ndarray:  # [out, in / 32] of blocks -> [out, in]; others as they are
    """Return the numbers of a weight, whether it is in blocks or not."""
    formats = {Q8_0: dequantize_q8_0, Q4_0: dequantize_q4_0}
    if weight.dtype not in formats:
        return weight
    return formats[weight.dtype](weight).reshape(len(weight), -1)


class QuantizedLinear(Module[[Tensor], Tensor]):
    """A linear layer that multiplies by 4-bit blocks without making float32 of them: a fraction of the bytes is read.

    Compiled, MAX also rounds the inputs to 8 bits, in blocks of their own: then the products are of whole numbers.

    Args:
        blocks: the weights, ``[out, in / 32]`` of ``Q4_0``.
        bias: ``[out]``, or 0 for none, as in MAX's ``Linear``.
    """

    def __init__(self, blocks: np.ndarray, bias: Tensor | Literal[0]) -> None:
        self.out_dim = len(blocks)
        padding = -self.out_dim % OUTPUTS
        self.weight = Tensor.from_dlpack(np.pad(blocks.view(np.uint8), [(0, padding), (0, 0)]))
        self.bias = bias

    def forward(self, x: Tensor) -> Tensor:  # [..., in] -> [..., out]
        """Multiply by the transposed weights, and add the bias."""
        # F.qmatmul of Q4_0, None, x and weights; leave out the outputs of the padding; add the bias. (2 lines)
        product = F.qmatmul(QuantizationEncoding.Q4_0, None, x, self.weight)
        return product[..., : self.out_dim] + self.bias


def replace_linear(module: Module[..., Any], weights: Weights, prefix: str = "") -> None:
    """Replace the linear layers inside a module whose weights are 4-bit blocks; ``prefix`` begins their names."""
    for name, child in module.children:
        if isinstance(child, Linear):
            weight = weights[f"{prefix}{name}.weight"]
            if weight.dtype == Q4_0:
                setattr(module, name, QuantizedLinear(weight, child.bias))
        else:
            replace_linear(child, weights, f"{prefix}{name}.")


def model_of(config: GPT2Config, weights: Weights) -> MaxGPT2LMHeadModel:
    """Return a model with these weights. Its linear layers keep 4-bit blocks; everything else becomes float32.

    Raises:
        ValueError: weights are missing, unknown or of another shape; the message names all of them.
    """
    model = empty_model(config)
    numbers = {name: dequantize(weight) for name, weight in weights.items()}
    check_weights(numbers, model)
    model.load_state_dict(numbers)
    replace_linear(model, weights)
    return model
