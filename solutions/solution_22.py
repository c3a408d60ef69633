"""Step 22: small weights, in blocks of 32 numbers: 8 or 4 bits for each number, 16 for the scale that they share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import gguf
import numpy as np
from max.experimental import functional as F
from max.experimental.nn import Linear, Module
from max.experimental.tensor import Tensor
from max.graph.quantization import QuantizationEncoding

from solutions.checkpoint import Weights, check_weights, empty_model
from solutions.gguf_files import Stored, read_gguf
from solutions.solution_01 import GPT2Config
from solutions.solution_11 import MaxGPT2LMHeadModel
from solutions.solution_13 import HEAD, WTE

BLOCK = 32  # numbers that share a scale
BYTES = {"Q8_0": 34, "Q4_0": 18}  # bytes of a block: two for its scale, then the steps
MULTIPLIED = ("Q4_0", "Q4_K", "Q6_K")  # the formats that MAX multiplies by as they are
ROWS = 32  # in such a product, MAX computes this many outputs at a time


def divide(blocks: np.ndarray, scales: np.ndarray) -> np.ndarray:  # [..., 32], [..., 1] -> [..., 32]
    """Divide each number by the scale of its block as llama.cpp does: multiply by 1 / scale. Zeros stay zeros."""
    return blocks * np.divide(1, scales, out=np.zeros_like(scales), where=scales != 0)


def with_scales(scales: np.ndarray, steps: np.ndarray) -> np.ndarray:  # [..., 1], [..., bytes] -> [..., 2 + bytes]
    """Put each scale, as the two bytes of a float16, in front of the bytes of its block."""
    return np.concatenate([scales.astype(np.float16).view(np.uint8), steps.view(np.uint8)], axis=-1)


def quantize_q8_0(blocks: np.ndarray) -> np.ndarray:  # [..., 32] -> [..., 34] of uint8
    """Round blocks to 8 bits for each number: -127 to 127 steps of the scale, kept as int8.

    A number halfway between two steps goes away from 0. Source: ``quantize_row_q8_0_ref`` of llama.cpp.
    """
    # scale = largest magnitude / 127. Divide, round halves away from 0, and put the scales in front. (4 lines)
    scales = np.abs(blocks).max(axis=-1, keepdims=True) / 127
    quotients = divide(blocks, scales)
    steps = np.trunc(quotients + np.copysign(np.float64(0.5), quotients))  # in float32, 0.49999997 + 0.5 is 1
    return with_scales(scales, steps.astype(np.int8))


def dequantize_q8_0(data: np.ndarray) -> np.ndarray:  # [..., 34] of uint8 -> [..., 32]
    """Return the numbers that blocks of 8 bits stand for, as float32."""
    # The first two bytes are the scale, a float16: make it float32. Multiply it by the others, int8. (2 lines)
    scales = data[..., :2].view(np.float16).astype(np.float32)
    return scales * data[..., 2:].view(np.int8)


def quantize_q4_0(blocks: np.ndarray) -> np.ndarray:  # [..., 32] -> [..., 18] of uint8
    """Round blocks to 4 bits for each number: -8 to 7 steps of the scale, kept as 0 to 15.

    The scale has a sign, so that the first number of the largest magnitude is step -8. A number halfway between two
    steps goes to the higher step. The first 16 steps are the low halves of the 16 bytes, the last 16 the high halves.
    Source: ``quantize_row_q4_0_ref`` of llama.cpp.
    """
    # scale = first number of largest magnitude / -8. Divide, add 8, round halves up, clip to 15, pack. (5 lines)
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=-1, keepdims=True), axis=-1)
    scales = largest / -8
    steps = np.floor(divide(blocks, scales) + 8.5).clip(0, 15).astype(np.uint8)
    packed = steps[..., :16] | steps[..., 16:] << 4
    return with_scales(scales, packed)


def dequantize_q4_0(data: np.ndarray) -> np.ndarray:  # [..., 18] of uint8 -> [..., 32]
    """Return the numbers that blocks of 4 bits stand for, as float32."""
    # Read the scale as in Q8_0. Put all low halves before all high ones, subtract 8, multiply. (3 lines)
    scales = data[..., :2].view(np.float16).astype(np.float32)
    steps = np.concatenate([data[..., 2:] & 15, data[..., 2:] >> 4], axis=-1)
    return scales * (steps.astype(np.int8) - 8)


QUANTIZE = {"Q8_0": quantize_q8_0, "Q4_0": quantize_q4_0}
DEQUANTIZE = {"Q8_0": dequantize_q8_0, "Q4_0": dequantize_q4_0}


def quantize(weight: np.ndarray, format: str) -> Stored:  # [out, in] -> [out, bytes]
    """Round a matrix in blocks, each cut from one row, whose length is a multiple of 32."""
    blocks = weight.astype(np.float32, copy=False).reshape(len(weight), -1, BLOCK)
    return Stored(QUANTIZE[format](blocks).reshape(len(weight), -1), format)


def dequantize(stored: Stored) -> np.ndarray:  # [out, bytes] -> [out, in]
    """Return the numbers of a weight as float32, whichever format it is stored in."""
    if stored.format not in BYTES:
        return gguf.dequantize(stored.data, gguf.GGMLQuantizationType[stored.format])
    blocks = stored.data.reshape(len(stored.data), -1, BYTES[stored.format])
    return DEQUANTIZE[stored.format](blocks).reshape(len(stored.data), -1)


class QuantizedLinear(Module[[Tensor], Tensor]):
    """A linear layer that keeps its weights in blocks, so that a fraction of the bytes is read to multiply by them.

    MAX also rounds the inputs to 8 bits, in blocks of their own. The products then are of whole numbers.

    Args:
        stored: the weights, ``[out, bytes]``, in a format that MAX multiplies by.
        bias: ``[out]``, or 0 for none, as in MAX's ``Linear``.
    """

    def __init__(self, stored: Stored, bias: Tensor | Literal[0]) -> None:
        self.encoding, self.out_dim = QuantizationEncoding(stored.format), len(stored.data)
        padded = np.pad(stored.data, [(0, -self.out_dim % ROWS), (0, 0)])  # the outputs of added rows mean nothing
        self.weight, self.bias = Tensor.from_dlpack(padded), bias

    def forward(self, x: Tensor) -> Tensor:  # [..., in] -> [..., out]
        """Multiply by the transposed weights, and add the bias."""
        # F.qmatmul of encoding, None, x and weights; keep the first out_dim channels; add the bias. (2 lines)
        product = F.qmatmul(self.encoding, None, x, self.weight)
        return product[..., : self.out_dim] + self.bias


def with_weight(module: Module[..., Tensor], leaf: str, stored: Stored) -> Module[..., Tensor]:
    """Give a module one of its weights, and return the module that computes with it.

    Args:
        module: a layer, a norm or a table of the model.
        leaf: ``weight`` or ``bias``.
        stored: the weight.
    """
    # Replace a Linear by a QuantizedLinear if the format is MULTIPLIED; else set leaf to the numbers. (4 lines)
    if isinstance(module, Linear) and stored.format in MULTIPLIED:
        return QuantizedLinear(stored, module.bias)
    setattr(module, leaf, Tensor.from_dlpack(dequantize(stored)))
    return module


def quantize_weights(weights: Weights, format: str) -> dict[str, Stored]:
    """Return the weights of a model as they are stored, by name; a head that is equal to ``wte`` is left out.

    A matrix is rounded to ``format``, ``Q8_0`` or ``Q4_0``, unless it is ``wpe`` or blocks do not fit into its rows;
    with ``F32``, none is.
    """
    stored = {}
    for name, weight in weights.items():
        fits = weight.ndim == 2 and weight.shape[1] % BLOCK == 0 and not name.endswith("wpe.weight")
        if name != HEAD or not np.array_equal(weight, weights[WTE]):
            stored[name] = quantize(weight, format) if fits and format != "F32" else Stored(weight, "F32")
    return stored


def model_of(config: GPT2Config, stored: Mapping[str, Stored]) -> MaxGPT2LMHeadModel:
    """Return a model that computes with stored weights; if they have no head, it is given that of ``wte``.

    Raises:
        ValueError: weights are missing, unknown or of another shape; the message names all of them.
    """
    model = empty_model(config)
    stored = {HEAD: stored[WTE], **stored} if WTE in stored else stored
    check_weights(stored, model)
    modules = {"": model, **dict(model.descendants)}
    for name, weight in stored.items():
        path, _, leaf = name.rpartition(".")
        owner, _, place = path.rpartition(".")
        modules[path] = with_weight(modules[path], leaf, weight)  # it may be another module than before
        setattr(modules[owner], place, modules[path])
    return model


def load_gguf(file: str | Path) -> MaxGPT2LMHeadModel:
    """Return the model of a GGUF file, which multiplies by its weights as they are in the file, where MAX can.

    Raises:
        ValueError: as :func:`read_gguf` and :func:`model_of` say.
    """
    return model_of(*read_gguf(file))
