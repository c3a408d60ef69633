"""Linear layers, attention's core and a product by the kernels of play/kernels, or by MAX's own operations."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from max.driver import CPU
from max.dtype import DType
from max.experimental.nn import Linear, Module
from max.experimental.tensor import Tensor
from max.graph import BufferType, DeviceRef, TensorType

from checker.max_adapter import runtime
from checker.max_adapter.hooks import install_hooks
from play.kernels.modules import with_linear
from play.kernels.operations import cached_attention, linear_bfloat16, loaded, pairs_of
from tools.benchmarks import shapes
from tools.benchmarks.workers import BFLOAT16, KERNELS, Call, Read, Workload, work

REF = DeviceRef.from_device(CPU())


class Layers(Module[..., list[Tensor]]):
    """All linear layers of GPT-2 small, side by side; each is the course's Linear, with weights as the model has them."""

    def __init__(self) -> None:
        self.count = len(shapes.LAYERS)
        for number, (weight, bias) in enumerate(shapes.parameters()):
            layer = Linear(weight.shape[1], weight.shape[0])
            layer.weight, layer.bias = runtime.tensor(weight), runtime.tensor(bias)
            setattr(self, f"layer{number}", layer)

    def forward(self, narrow: Tensor, wide: Tensor) -> list[Tensor]:
        return [
            getattr(self, f"layer{number}")(narrow if width == shapes.WIDTH else wide)
            for number, (width, _) in enumerate(shapes.LAYERS)
        ]


class Cores(Module[..., Tensor]):
    def __init__(self, count: int) -> None:
        self.count = count

    def forward(self, joined: Tensor, keys: Tensor, values: Tensor, starts: Tensor, past: Tensor) -> Tensor:
        for _ in range(self.count):
            output = cached_attention(joined, keys, values, starts, past, shapes.HEADS)
        return output


class Product(Module[..., Tensor]):
    def __init__(self, kernels: bool, rows: int) -> None:
        self.kernels, self.rows = kernels, rows

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return linear_bfloat16(left, right, self.rows) if self.kernels else left @ right.T


@cache
def layers(how: str, dtype: str) -> Any:
    model = Layers()
    if how == KERNELS:
        with_linear(model, dtype == BFLOAT16)
    model.to(CPU())
    types = [TensorType(DType.float32, ["batch", "seq", width], REF) for width in (shapes.WIDTH, 4 * shapes.WIDTH)]
    with loaded():
        return model.compile(*types)


def prepare(checkpoint: Path, workload: Workload) -> tuple[Call, Read]:
    arrays = shapes.inputs(workload)
    if workload.part == shapes.LINEAR:
        compiled = layers(workload.how, workload.dtype)
    elif workload.part == shapes.PRODUCT:
        if workload.dtype == BFLOAT16:
            arrays[1] = pairs_of(arrays[1])
        types: list[Any] = [TensorType(DType.from_numpy(array.dtype), array.shape, REF) for array in arrays]
        with loaded():
            compiled = Product(workload.how == KERNELS, workload.length).compile(*types)
    else:
        shape = (workload.batch, shapes.HEADS, workload.length, shapes.DEPTH)
        arrays += [np.zeros(shape, np.float32), np.zeros(shape, np.float32)]
        arrays += [np.zeros(workload.batch, np.int32), np.zeros(1, np.int32)]
        buffer = BufferType(DType.float32, ["batch", shapes.HEADS, "n_positions", shapes.DEPTH], REF)
        types = [TensorType(DType.float32, ["batch", "seq", 3 * shapes.WIDTH], REF), buffer, buffer]
        types += [TensorType(DType.int32, [size], REF) for size in ("batch", 1)]
        with loaded():
            compiled = Cores(shapes.repeats(workload.length)).compile(*types)
    buffers = [runtime.tensor(array).driver_tensor for array in arrays]
    return lambda: [np.from_dlpack(output) for output in compiled.execute_raw(*buffers)], shapes.in_a_row


if __name__ == "__main__":
    install_hooks()
    work(f"MAX {version('max')}", prepare)
