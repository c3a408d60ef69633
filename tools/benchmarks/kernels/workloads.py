"""Attention without its projections, and one linear layer, as workloads: by the kernels, by MAX, and by PyTorch.

One core of few tokens takes microseconds, far less than a call of a graph from Python does; so many of them are one
after the other in one graph. In PyTorch they are as many calls, which is how its users run them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tools.benchmarks.backends import Call, Read, Workload

HEADS, DEPTH = 12, 64  # GPT-2 small's
WIDTH = HEADS * DEPTH
KERNELS = "MAX with kernels"  # a way to run a workload
CORE, LINEAR = "core", "linear"
OUTPUTS = {LINEAR: 3 * WIDTH, "head": 50257}  # of the layers that are timed: c_attn, and the head


def cores(length: int) -> int:
    """Return how many cores are one after the other: as many as GPT-2 small has, of few tokens eight times as many."""
    return 96 if length <= 8 else 12


def joined(workload: Workload) -> np.ndarray:  # -> [batch, length, 3 * embd]
    """Return queries, keys and values side by side, as ``c_attn`` leaves them."""
    generator = np.random.default_rng(workload.length)
    return generator.standard_normal((workload.batch, workload.length, 3 * WIDTH), dtype=np.float32)


def layer(workload: Workload) -> list[np.ndarray]:  # -> [batch, length, in], [out, in], [out]
    """Return what a linear layer takes."""
    generator = np.random.default_rng(workload.length)
    shapes = ((workload.batch, workload.length, WIDTH), (OUTPUTS[workload.part], WIDTH), (OUTPUTS[workload.part],))
    return [generator.standard_normal(shape, dtype=np.float32) for shape in shapes]


def max_core(workload: Workload) -> tuple[Call, Read]:
    """Return several cores in one graph, or a linear layer, compiled; the cores fill a cache, as step 14's do."""
    from max.dtype import DType
    from max.experimental.nn import Module
    from max.experimental.tensor import Tensor
    from max.graph import BufferType, DeviceRef, TensorType

    from checker.max_adapter.runtime import tensor
    from play.kernels.operations import cached_attention, linear, loaded

    ref, float32 = DeviceRef.CPU(), DType.float32

    class Cores(Module[..., Tensor]):
        def forward(self, joined: Tensor, keys: Tensor, values: Tensor, starts: Tensor, past: Tensor) -> Tensor:
            for _ in range(cores(workload.length)):
                output = cached_attention(joined, keys, values, starts, past, HEADS)
            return output

    class Layer(Module[..., Tensor]):
        def forward(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
            return linear(x, weight, bias) if workload.way == KERNELS else x @ weight.transpose(0, 1) + bias

    if workload.part == CORE:
        arrays = [joined(workload)]
        arrays += [np.zeros((workload.batch, HEADS, workload.length, DEPTH), np.float32) for _ in range(2)]
        arrays += [np.zeros(workload.batch, np.int32), np.zeros(1, np.int32)]
        buffer = BufferType(float32, ["batch", HEADS, "n_positions", DEPTH], ref)
        types: list[Any] = [TensorType(float32, ["batch", "seq", 3 * WIDTH], ref), buffer, buffer]
        types += [TensorType(DType.int32, [size], ref) for size in ("batch", 1)]
        module: Module[..., Tensor] = Cores()
    else:
        arrays = layer(workload)
        types = [TensorType(float32, ["batch", "seq", WIDTH], ref)]
        types += [TensorType(float32, array.shape, ref) for array in arrays[1:]]
        module = Layer()
    with loaded():
        compiled: Any = module.compile(*types)
    tensors = [tensor(array) for array in arrays]

    def call() -> Tensor:
        output: Tensor = compiled(*tensors)
        np.from_dlpack(output)  # waits for the result; nothing is copied
        return output

    return call, lambda output: [np.from_dlpack(output)]


def torch_core(workload: Workload) -> Callable[[], Any]:
    """Return several calls of sdpa, and the heads side by side as every user needs them, or a linear layer."""
    import torch
    from torch.nn import functional

    if workload.part != CORE:
        x, weight, bias = map(torch.from_numpy, layer(workload))
        return lambda: functional.linear(x, weight, bias)
    parts = torch.from_numpy(joined(workload)).split(WIDTH, dim=-1)
    query, key, value = (part.unflatten(-1, (HEADS, DEPTH)).transpose(1, 2) for part in parts)

    def call() -> Any:
        for _ in range(cores(workload.length)):
            output = functional.scaled_dot_product_attention(query, key, value, is_causal=workload.length > 1)
        return output.transpose(1, 2).flatten(2)

    return call


def core_flops(batch: int, length: int) -> int:
    """Return the operations of a core, each query looking at those up to itself alone."""
    return batch * HEADS * DEPTH * 4 * (length * (length + 1) // 2)
