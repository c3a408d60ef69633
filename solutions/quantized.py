"""Given in step 22: the weights of a whole model in blocks, and a model that multiplies by them."""

from __future__ import annotations

from typing import Any

import numpy as np
from max.experimental.nn import Linear, Module

from solutions.checkpoint import Weights, check_weights, empty_model
from solutions.solution_01 import GPT2Config
from solutions.solution_11 import MaxGPT2LMHeadModel
from solutions.solution_22 import (
    BLOCK_SIZE,
    Q4_0,
    Q8_0,
    QuantizedLinear,
    dequantize_q4_0,
    dequantize_q8_0,
    quantize_q4_0,
    quantize_q8_0,
)


def quantize_weights(weights: Weights, block_format: str) -> Weights:
    """Return the weights of a model, with its matrices in blocks, ``[out, in / 32]`` of ``Q8_0`` or ``Q4_0``.

    ``wpe`` keeps its numbers, as in llama.cpp, and so does a matrix whose rows blocks do not fit into.
    """
    quantize = {"Q8_0": quantize_q8_0, "Q4_0": quantize_q4_0}[block_format]
    quantized = dict(weights)
    for name, weight in weights.items():
        if weight.ndim == 2 and weight.shape[1] % BLOCK_SIZE == 0 and not name.endswith("wpe.weight"):
            quantized[name] = quantize(weight.reshape(len(weight), -1, BLOCK_SIZE))
    return quantized


def dequantize(weight: np.ndarray) -> np.ndarray:  # [out, in / 32] of blocks -> [out, in]; others as they are
    """Return the numbers of a weight, whether it is in blocks or not."""
    formats = {Q8_0: dequantize_q8_0, Q4_0: dequantize_q4_0}
    if weight.dtype not in formats:
        return weight
    return formats[weight.dtype](weight).reshape(len(weight), -1)


def replace_linear(module: Module[..., Any], weights: Weights, prefix: str = "") -> None:
    """Replace the linear layers of a module whose weights are 4-bit blocks; ``prefix`` begins their names."""
    for name, child in module.children:
        if isinstance(child, Linear):
            weight = weights[f"{prefix}{name}.weight"]
            if weight.dtype == Q4_0:
                setattr(module, name, QuantizedLinear(weight, child.bias))
        else:
            replace_linear(child, weights, f"{prefix}{name}.")


def quantized_model(config: GPT2Config, weights: Weights) -> MaxGPT2LMHeadModel:
    """Return a model with these weights. Its linear layers keep 4-bit blocks; everything else becomes float32."""
    model = empty_model(config)
    dequantized = {name: dequantize(weight) for name, weight in weights.items()}
    check_weights(dequantized, model)
    model.load_state_dict(dequantized)
    replace_linear(model, weights)
    return model
