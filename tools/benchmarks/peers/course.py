"""This course's solutions, compiled by MAX: as they are, with the kernels of ``play``, or with rounded weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from max.driver import CPU
from max.dtype import DType
from max.experimental.nn import Module
from max.experimental.tensor import Tensor
from max.graph import BufferType, DeviceRef, TensorType

from checker.max_adapter import runtime
from checker.max_adapter.hooks import install_hooks
from play.engine import Writer, load_quantized
from play.kernels.modules import compile_with_kernels
from play.kernels.operations import cached_attention, linear, linear_bfloat16, loaded, pairs_of
from play.preparing import check_bfloat16
from solutions.caching import CachedModel, KVCache, on_arrays
from solutions.checkpoint import read_config
from solutions.solution_12 import generate_tokens
from solutions.solution_13 import load_pretrained
from solutions.solution_14 import CachedGPT2, cache_mask
from solutions.solution_14 import cached_attention as attention_with_cache
from tools.benchmarks import workloads
from tools.benchmarks.workers import FORWARD, TEXT, Call, Read, Workload, be

REF = DeviceRef.from_device(CPU())


def prepare(checkpoint: Path, workload: Workload) -> tuple[Call, Read]:
    """Return a workload as a function, compiled and with its input in place, and how to read what it returns."""
    if workload.part not in (FORWARD, TEXT):
        return kernel(workload), workloads.in_a_row
    ids = workload.token_ids(read_config(checkpoint).vocab_size)
    if workload.part == FORWARD:
        model = whole(checkpoint, workload.how, workload.dtype)
        return lambda: model(ids), lambda logits: logits[:, -1]
    on_gpu, again = workload.how in (workloads.GPU, workloads.GPU_AGAIN), workload.how == workloads.GPU_AGAIN
    model = with_cache(checkpoint, workloads.GPU if on_gpu else workload.how, workload.dtype)

    def write() -> np.ndarray:
        # Nothing computed by an earlier run helps this one; with as many rows as before, its buffers do.
        model.cached_ids = np.zeros((workload.batch if again and model.cache else 0, 0), np.int64)
        return generate_tokens(model, ids, workload.new_tokens, temperature=0)[:, workload.length :]

    return write, lambda text: text


@cache
def with_cache(checkpoint: Path, how: str, dtype: str) -> Any:
    """Return the model with its cache, as ``./run generate`` runs it."""
    device = "gpu" if how == workloads.GPU else "cpu"
    kind: Any = {"dtype" if dtype in ("float32", workloads.BFLOAT16) else "quantize": dtype}
    return Writer(checkpoint, device, kernels=how == workloads.KERNELS, **kind).model


class EveryLogit(CachedGPT2):
    """Step 14's graph, but for the logits of all tokens: what the kernels replace, and the same work."""

    def forward(
        self, input_ids: Tensor, position_ids: Tensor, padding_mask: Tensor, cache: KVCache
    ) -> Tensor:  # [batch, seq], [batch, seq], [batch, total] -> [batch, seq, vocab]
        """Return the logits after all new tokens, and leave their keys and values in the cache."""
        transformer = self.model.transformer
        mask = cache_mask(input_ids.shape[-1], padding_mask)
        x = transformer.wte(input_ids) + transformer.wpe(position_ids)
        for block, (keys, values) in zip(transformer.h, cache, strict=True):
            x = x + attention_with_cache(block.attn, block.ln_1(x), keys, values, mask)
            x = x + block.mlp(block.ln_2(x))
        return self.model.lm_head(transformer.ln_f(x))


def compile_plain(model: Any) -> CachedModel:
    """Compile :class:`EveryLogit` as step 14 compiles its own."""
    config = model.config
    ids, mask = TensorType(DType.int64, ["batch", "seq"], REF), TensorType(DType.float32, ["batch", "total"], REF)
    buffer = BufferType(DType.float32, ["batch", config.n_head, config.n_positions, config.head_dim], REF)
    cache_types: Any = [(buffer, buffer)] * config.n_layer
    compiled = EveryLogit(model).compile(ids, ids, mask, cache_types)
    return CachedModel(on_arrays(compiled, CPU()), config, CPU())


@cache
def whole(checkpoint: Path, how: str, dtype: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return the model without what a cache holds, for the logits of all tokens."""
    if dtype == workloads.BFLOAT16:
        check_bfloat16(how == workloads.KERNELS)
    if how == workloads.KERNELS:
        model = compile_with_kernels(load_pretrained(checkpoint), CPU(), slice(None), dtype == workloads.BFLOAT16)
    else:
        model = compile_plain(load_pretrained(checkpoint) if dtype == "float32" else load_quantized(checkpoint, dtype))

    def run(ids: np.ndarray) -> np.ndarray:
        model.cached_ids = model.cached_ids[:, :0]  # the cache stays, and all of it is written anew
        return model(ids)

    return run


class Kernel(Module[..., list[Tensor]]):
    """The graph of a workload that is no model: the kernels of ``play/kernels``, or MAX's own operations."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload

    def forward(self, *inputs: Tensor) -> list[Tensor]:
        """Return the outputs of all linear layers, of the last core, or of the product."""
        if self.workload.part == workloads.LINEAR:
            product = linear if self.workload.how == workloads.KERNELS else lambda x, weight: x @ weight.T
            return workloads.each_layer(lambda x, weight, bias: product(x, weight) + bias, *inputs)
        if self.workload.part == workloads.CORE:
            joined, keys, values, starts, past = inputs
            for _ in range(workloads.repeats(self.workload.length)):
                output = cached_attention(joined, keys, values, starts, past, workloads.HEADS)
            return [output]
        left, right = inputs
        if self.workload.how == workloads.KERNELS:
            return [linear_bfloat16(left, right, workloads.ROWS)]
        return [left @ right.T]


def kernel(workload: Workload) -> Call:
    """Return a workload that is no model as a function."""
    arrays = workloads.inputs(workload)
    if workload.dtype == workloads.BFLOAT16:
        check_bfloat16(True)
        arrays[1] = pairs_of(arrays[1])
    types: list[Any] = [TensorType(DType.from_numpy(array.dtype), array.shape, REF) for array in arrays]
    if workload.part == workloads.CORE:  # which, like step 14's, fills a cache
        cache_shape = (workload.batch, workloads.HEADS, workload.length, workloads.DEPTH)
        arrays += [np.zeros(cache_shape, np.float32), np.zeros(cache_shape, np.float32)]
        arrays += [np.zeros(workload.batch, np.int32), np.zeros(1, np.int32)]
        types += [BufferType(DType.float32, cache_shape, REF)] * 2
        types += [TensorType(DType.int32, array.shape, REF) for array in arrays[3:]]
    with loaded():
        compiled: Any = Kernel(workload).compile(*types)
    buffers = [runtime.tensor(array).driver_tensor for array in arrays]
    return lambda: [np.from_dlpack(output) for output in compiled.execute_raw(*buffers)]


if __name__ == "__main__":
    install_hooks()
    be(f"MAX {version('max')}", prepare)
