"""What this course and PyTorch run beyond a prompt: attention, linear layers, and a large product.

Attention's core of few tokens takes microseconds, far less than a call of a graph from Python does; so many of them are
one after the other in one graph. In PyTorch they are as many calls, which is how its users run them. Linear layers are
timed together, all of GPT-2 small's: no cache keeps their weights, as none does in the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tools.benchmarks.workers import Workload

CORE, LINEAR, PRODUCT = "core", "linear", "product"  # parts
KERNELS, COMPILED, EAGER, BFLOAT16 = "kernels", "torch.compile", "eager", "bfloat16"  # ways to run them
GPU, GPU_AGAIN = "gpu", "gpu, into the cache of the text before"
HEADS, DEPTH = 12, 64  # GPT-2 small's
WIDTH = HEADS * DEPTH
ROWS = 2048  # and columns of the two matrices whose product shows the machine's peak

#: The linear layers of GPT-2 small, from how many numbers to how many: all that a token is multiplied by.
LAYERS = [(WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)] * 12 + [(WIDTH, 50257)]
WEIGHT_BYTES = 4 * sum(inputs * outputs for inputs, outputs in LAYERS)


def repeats(length: int) -> int:
    """Return how many cores are one after the other: as many as GPT-2 small has, of few tokens eight times as many."""
    return 96 if length <= 8 else 12


def core_flops(batch: int, length: int) -> int:
    """Return the operations of a core, each query looking at those up to itself alone."""
    return batch * HEADS * DEPTH * 4 * (length * (length + 1) // 2)


def inputs(workload: Workload) -> list[np.ndarray]:
    """Return what a kernel takes.

    For the core: queries, keys and values side by side, as ``c_attn`` leaves them [batch, length, 3 * embd]. For linear
    layers: [batch, length, in] of two widths, then [out, in] and [out] of each layer. Else two matrices.
    """
    shapes: list[tuple[int, ...]] = [(ROWS, ROWS), (ROWS, ROWS)]
    if workload.part == CORE:
        shapes = [(workload.batch, workload.length, 3 * WIDTH)]
    elif workload.part == LINEAR:
        shapes = [(workload.batch, workload.length, width) for width in (WIDTH, 4 * WIDTH)]
        shapes += [shape for width, outputs in LAYERS for shape in ((outputs, width), (outputs,))]
    generator = np.random.default_rng(workload.length)
    return [generator.standard_normal(shape, dtype=np.float32) for shape in shapes]


def each_layer(apply: Callable[..., Any], narrow: Any, wide: Any, *parameters: Any) -> list[Any]:
    """Apply every layer to the one of two tensors that has its width."""
    triples = zip(LAYERS, parameters[::2], parameters[1::2], strict=True)
    return [apply(narrow if width == WIDTH else wide, weight, bias) for (width, _), weight, bias in triples]


def in_a_row(outputs: list[Any]) -> np.ndarray:
    """Return the numbers of some outputs one after the other."""
    return np.concatenate([np.asarray(output).ravel() for output in outputs])
