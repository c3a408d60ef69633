"""Attention without its projections, and one linear layer, as workloads: by the kernels, by MAX, and by PyTorch.

One core of few tokens takes microseconds, far less than a call of a graph from Python does; so many of them are one
after the other in one graph. In PyTorch they are as many calls, which is how its users run them. Linear layers are
timed together, all of GPT-2 small's: no cache keeps their weights, as none does in the model.
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
BARE = "MAX with kernels, products and core alone"  # a way to run the model: without what is between them
CORE, LINEAR = "core", "linear"


#: The linear layers of GPT-2 small, from how many numbers to how many: all that a token is multiplied by.
LAYERS = [(WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)] * 12 + [(WIDTH, 50257)]
WEIGHT_BYTES = 4 * sum(inputs * outputs for inputs, outputs in LAYERS)


def cores(length: int) -> int:
    """Return how many cores are one after the other: as many as GPT-2 small has, of few tokens eight times as many."""
    return 96 if length <= 8 else 12


def joined(workload: Workload) -> np.ndarray:  # -> [batch, length, 3 * embd]
    """Return queries, keys and values side by side, as ``c_attn`` leaves them."""
    generator = np.random.default_rng(workload.length)
    return generator.standard_normal((workload.batch, workload.length, 3 * WIDTH), dtype=np.float32)


def layer_inputs(workload: Workload) -> list[np.ndarray]:
    """Return what all layers take: [batch, length, in] of two widths, then [out, in] and [out] for each layer."""
    generator = np.random.default_rng(workload.length)
    shapes: list[tuple[int, ...]] = [(workload.batch, workload.length, width) for width in (WIDTH, 4 * WIDTH)]
    for inputs, outputs in LAYERS:
        shapes += [(outputs, inputs), (outputs,)]
    return [generator.standard_normal(shape, dtype=np.float32) for shape in shapes]


def each_layer(apply: Callable[..., Any], narrow: Any, wide: Any, *parameters: Any) -> list[Any]:
    """Apply every layer to the one of two tensors that has its width."""
    triples = zip(LAYERS, parameters[::2], parameters[1::2], strict=True)
    return [apply(narrow if inputs == WIDTH else wide, weight, bias) for (inputs, _), weight, bias in triples]


def max_core(workload: Workload) -> tuple[Call, Read]:
    """Return several cores in one graph, or linear layers, compiled; the cores fill a cache, as step 14's do."""
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

    class Linears(Module[..., list[Tensor]]):
        def forward(self, *inputs: Tensor) -> list[Tensor]:
            own = workload.way == KERNELS
            return each_layer(linear if own else lambda x, weight, bias: x @ weight.transpose(0, 1) + bias, *inputs)

    if workload.part == CORE:
        arrays = [joined(workload)]
        arrays += [np.zeros((workload.batch, HEADS, workload.length, DEPTH), np.float32) for _ in range(2)]
        arrays += [np.zeros(workload.batch, np.int32), np.zeros(1, np.int32)]
        buffer = BufferType(float32, ["batch", HEADS, "n_positions", DEPTH], ref)
        types: list[Any] = [TensorType(float32, ["batch", "seq", 3 * WIDTH], ref), buffer, buffer]
        types += [TensorType(DType.int32, [size], ref) for size in ("batch", 1)]
        module: Module[..., Any] = Cores()
    else:
        arrays = layer_inputs(workload)
        types = [TensorType(float32, ["batch", "seq", array.shape[-1]], ref) for array in arrays[:2]]
        types += [TensorType(float32, array.shape, ref) for array in arrays[2:]]
        module = Linears()
    with loaded():
        compiled: Any = module.compile(*types)
    buffers = [tensor(array).driver_tensor for array in arrays]

    def call() -> list[np.ndarray]:
        return [np.from_dlpack(one) for one in compiled.execute_raw(*buffers)]  # which waits for them

    return call, lambda output: output


def torch_core(workload: Workload) -> Callable[[], list[Any]]:
    """Return several calls of sdpa, and the heads side by side as every user needs them, or linear layers."""
    import torch
    from torch.nn import functional

    if workload.part != CORE:
        inputs = [torch.from_numpy(array) for array in layer_inputs(workload)]
        return lambda: each_layer(functional.linear, *inputs)
    parts = torch.from_numpy(joined(workload)).split(WIDTH, dim=-1)
    query, key, value = (part.unflatten(-1, (HEADS, DEPTH)).transpose(1, 2) for part in parts)

    def call() -> list[Any]:
        for _ in range(cores(workload.length)):
            output = functional.scaled_dot_product_attention(query, key, value, is_causal=workload.length > 1)
        return [output.transpose(1, 2).flatten(2)]

    return call


def core_flops(batch: int, length: int) -> int:
    """Return the operations of a core, each query looking at those up to itself alone."""
    return batch * HEADS * DEPTH * 4 * (length * (length + 1) // 2)


def bare(model: Any) -> Any:
    """Return a model of which only its products, with their biases, and attention's core are left.

    Args:
        model: ``play.kernels.modules.with_kernels`` made it.
    """
    from max.experimental.nn import Module
    from max.experimental.tensor import Tensor

    class Bare(Module[[Tensor], Tensor]):
        def forward(self, input_ids: Tensor) -> Tensor:  # [batch, seq] -> [batch, seq, vocab]
            hidden_states = model.transformer.wte(input_ids)
            for block in model.transformer.h:
                hidden_states = block.mlp.c_proj(block.mlp.c_fc(block.attn(hidden_states)))
            return model.lm_head(hidden_states)

    return Bare()
