"""Step 22: quantization, weights in blocks of 32 that share a scale: 8 or 4 bits a weight, and 16 for the scale."""

from __future__ import annotations

from typing import Literal

import numpy as np
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor
from max.graph.quantization import QuantizationEncoding

BLOCK_SIZE = 32  # weights that share a scale: llama.cpp's QK8_0 and QK4_0
OUTPUT_MULTIPLE = 32  # MAX computes this many outputs at a time, so a quantized layer is padded to a multiple

#: The blocks of llama.cpp, of 34 and 18 bytes. ``scale`` is its ``d``, with an axis to broadcast; the rest, its ``qs``.
Q8_0 = np.dtype([("scale", np.float16, (1,)), ("quants", np.int8, (BLOCK_SIZE,))])
Q4_0 = np.dtype([("scale", np.float16, (1,)), ("packed", np.uint8, (BLOCK_SIZE // 2,))])  # two quants in a byte


def inverse(scales: np.ndarray) -> np.ndarray:  # [..., 1] -> [..., 1]
    """Return 1 / scale, or 0 for a block of zeros. llama.cpp multiplies by it; a division would round differently."""
    return np.divide(1, scales, out=np.zeros_like(scales), where=scales != 0)


def roundf(numbers: np.ndarray) -> np.ndarray:  # [...] -> [...]
    """Round to whole numbers as C does, halves away from 0; ``np.rint`` rounds them to the even one."""
    return np.trunc(numbers.astype(np.float64) + np.copysign(0.5, numbers))  # in float32, 0.49999997 + 0.5 is 1


def quantize_q8_0(weights: np.ndarray) -> np.ndarray:  # float32 [..., 32] -> [...] of Q8_0
    """Round to 8 bits: each weight becomes a quant from -127 to 127, to be multiplied by the scale of its block.

    A weight halfway between two quants goes away from 0. Source: ``quantize_row_q8_0_ref`` of llama.cpp.
    """
    blocks = np.zeros(weights.shape[:-1], Q8_0)
    # Choose each block's scale so that its largest magnitude becomes 127, and round. (5 lines)
    scales = np.abs(weights).max(axis=-1, keepdims=True) / 127  # [..., 1]
    quants = roundf(weights * inverse(scales))  # [..., 32]
    blocks["scale"] = scales  # rounded to float16; as in llama.cpp, the quants are those of the float32 scale
    blocks["quants"] = quants
    return blocks


def dequantize_q8_0(blocks: np.ndarray) -> np.ndarray:  # [...] of Q8_0 -> float32 [..., 32]
    """Return the weights that blocks of 8 bits stand for."""
    # Turn the quants into weights again. (1 line)
    return blocks["scale"].astype(np.float32) * blocks["quants"]


def quantize_q4_0(weights: np.ndarray) -> np.ndarray:  # float32 [..., 32] -> [...] of Q4_0
    """Round to 4 bits: each weight becomes a quant from -8 to 7, stored as 0 to 15.

    The scale has a sign, so that the first weight of the largest magnitude is quant -8; its opposite would be 8, and
    becomes 7. A weight halfway between two quants goes to the higher one. The first 16 quants are the low halves of the
    16 bytes, the last 16 the high halves. Source: ``quantize_row_q4_0_ref`` of llama.cpp.
    """
    blocks = np.zeros(weights.shape[:-1], Q4_0)
    half = BLOCK_SIZE // 2
    # Choose each block's scale, round, and pack two quants into each byte. (6 lines)
    largest = np.abs(weights).argmax(axis=-1, keepdims=True)  # [..., 1]
    scales = np.take_along_axis(weights, largest, axis=-1) / -8  # [..., 1]
    quants = np.floor(weights * inverse(scales) + 8.5).clip(0, 15).astype(np.uint8)  # [..., 32]
    blocks["scale"] = scales
    blocks["packed"] = quants[..., :half] | (quants[..., half:] << 4)
    return blocks


def dequantize_q4_0(blocks: np.ndarray) -> np.ndarray:  # [...] of Q4_0 -> float32 [..., 32]
    """Return the weights that blocks of 4 bits stand for."""
    # Unpack the quants, and turn them into weights again. (2 lines)
    quants = np.concatenate([blocks["packed"] & 15, blocks["packed"] >> 4], axis=-1)
    return blocks["scale"].astype(np.float32) * (quants.astype(np.int8) - 8)


class QuantizedLinear(Module[[Tensor], Tensor]):
    """A linear layer that multiplies by 4-bit blocks without expanding them to float32, so it reads far fewer bytes.

    In a compiled graph, MAX also rounds the inputs to 8 bits, in blocks of their own, so it multiplies integers.
    ``blocks`` are the weights, ``[out, in / 32]`` of ``Q4_0``; ``bias`` is ``[out]``, or 0 for none, as in ``Linear``.
    """

    def __init__(self, blocks: np.ndarray, bias: Tensor | Literal[0]) -> None:
        self.out_dim = len(blocks)
        padding = -self.out_dim % OUTPUT_MULTIPLE
        self.weight = Tensor.from_dlpack(np.pad(blocks.view(np.uint8), [(0, padding), (0, 0)]))
        self.bias = bias

    def forward(self, x: Tensor) -> Tensor:  # [..., in] -> [..., out]
        """Multiply by the transposed weights, and add the bias."""
        # Multiply by the blocks as they are, without the outputs of the padding; add the bias. (2 lines)
        product = F.qmatmul(QuantizationEncoding.Q4_0, None, x, self.weight)
        return product[..., : self.out_dim] + self.bias
