"""The kernels of ``play/kernels`` and MAX's own operations, each in a compiled graph."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from max.dtype import DType
from max.experimental.nn import Module
from max.experimental.tensor import Tensor
from max.graph import BufferType, DeviceRef, TensorType

from checker.max_adapter import runtime
from play.kernels.operations import cached_attention, linear, loaded
from tools.benchmarks.kernels.shapes import CORE, DEPTH, HEADS, KERNELS, LINEAR, each_layer, in_a_row, inputs, repeats
from tools.benchmarks.workers import Call, Read, Workload, be


class Part(Module[..., list[Tensor]]):
    """The graph of a workload."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload

    def forward(self, *inputs: Tensor) -> list[Tensor]:
        """Return the outputs of all linear layers, of the last core, or of the product."""
        if self.workload.part == LINEAR:
            layer = linear if self.workload.how == KERNELS else lambda x, weight, bias: x @ weight.T + bias
            return each_layer(layer, *inputs)
        if self.workload.part == CORE:
            joined, keys, values, starts, past = inputs
            for _ in range(repeats(self.workload.length)):
                output = cached_attention(joined, keys, values, starts, past, HEADS)
            return [output]
        left, right = inputs
        return [left @ right.T]


def prepare(folder: Path, workload: Workload) -> tuple[Call, Read]:
    """Return a workload as a function, compiled and with its input in place, and how to read what it returns."""
    arrays, ref = inputs(workload), DeviceRef.CPU()
    types: list[Any] = [TensorType(DType.float32, array.shape, ref) for array in arrays]
    if workload.part == CORE:  # which, like step 14's, fills a cache
        cache = (workload.batch, HEADS, workload.length, DEPTH)
        arrays += [np.zeros(cache, np.float32), np.zeros(cache, np.float32)]
        arrays += [np.zeros(workload.batch, np.int32), np.zeros(1, np.int32)]
        types += [BufferType(DType.float32, cache, ref)] * 2
        types += [TensorType(DType.int32, array.shape, ref) for array in arrays[3:]]
    with loaded():
        compiled: Any = Part(workload).compile(*types)
    buffers = [runtime.tensor(array).driver_tensor for array in arrays]
    return lambda: [np.from_dlpack(output) for output in compiled.execute_raw(*buffers)], in_a_row


if __name__ == "__main__":
    runtime.prepare()
    be(f"MAX {version('max')}", prepare)
