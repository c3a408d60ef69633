"""What the kernels' part runs: all linear layers, attention's core, a large product, reading."""

from __future__ import annotations

from typing import Any

import numpy as np

from tools.benchmarks.workers import Workload

CORE, LINEAR, PRODUCT, READ = "core", "linear", "product", "read"
HEADS, DEPTH = 12, 64
WIDTH = HEADS * DEPTH
LAYERS = [(WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)] * 12 + [(WIDTH, 50257)]
WEIGHT_BYTES = 4 * sum(inputs * outputs for inputs, outputs in LAYERS)


def repeats(length: int) -> int:
    return 96 if length <= 8 else 12


def core_flops(batch: int, length: int) -> int:
    return batch * HEADS * DEPTH * 4 * (length * (length + 1) // 2)


def inputs(workload: Workload) -> list[np.ndarray]:
    """For linear layers: [batch, length, in] of two widths. Else as it was."""
    if workload.part == CORE:
        shapes = [(workload.batch, workload.length, 3 * WIDTH)]
    elif workload.part == LINEAR:
        shapes = [(workload.batch, workload.length, width) for width in (WIDTH, 4 * WIDTH)]
    else:
        shapes = [(workload.length, workload.length)] * 2
    generator = np.random.default_rng(workload.length)
    return [generator.standard_normal(shape, dtype=np.float32) for shape in shapes]


def parameters() -> list[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(7)
    return [
        (generator.random((outputs, width), dtype=np.float32) - 0.5, generator.random(outputs, dtype=np.float32))
        for width, outputs in LAYERS
    ]


def in_a_row(outputs: list[Any]) -> np.ndarray:
    return np.concatenate([np.asarray(output).ravel() for output in outputs])
