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
from max.experimental.tensor import Tensor
from max.graph import BufferType, DeviceRef, TensorType

from checker.max_adapter import runtime
from checker.max_adapter.hooks import install_hooks
from play.engine import Writer, load_quantized
from play.kernels.modules import compile_with_kernels
from play.preparing import check_bfloat16
from solutions.caching import CachedModel, KVCache, on_arrays
from solutions.checkpoint import read_config
from solutions.solution_12 import generate_tokens
from solutions.solution_13 import load_pretrained
from solutions.solution_14 import CachedGPT2, cache_mask
from solutions.solution_14 import cached_attention as attention_with_cache
from tools.benchmarks.workers import BFLOAT16, FORWARD, GPU, GPU_AGAIN, KERNELS, Call, Read, Workload, be

REF = DeviceRef.from_device(CPU())


def prepare(checkpoint: Path, workload: Workload) -> tuple[Call, Read]:
    """Return a workload as a function, compiled and with its input in place, and how to read what it returns."""
    ids = workload.token_ids(read_config(checkpoint).vocab_size)
    if workload.part == FORWARD:
        model = whole(checkpoint, workload.how, workload.dtype)
        return lambda: model(ids), lambda logits: logits[:, -1]
    on_gpu, again = workload.how in (GPU, GPU_AGAIN), workload.how == GPU_AGAIN
    model = with_cache(checkpoint, GPU if on_gpu else workload.how, workload.dtype)

    def write() -> np.ndarray:
        # Nothing computed by an earlier run helps this one; with as many rows as before, its buffers do.
        model.cached_ids = np.zeros((workload.batch if again and model.cache else 0, 0), np.int64)
        return generate_tokens(model, ids, workload.new_tokens, temperature=0)[:, workload.length :]

    return write, lambda text: text


@cache
def with_cache(checkpoint: Path, how: str, dtype: str) -> Any:
    """Return the model with its cache, as ``./run generate`` runs it."""
    device = "gpu" if how == GPU else "cpu"
    kind: Any = {"dtype" if dtype in ("float32", BFLOAT16) else "quantize": dtype}
    return Writer(checkpoint, device, kernels=how == KERNELS, **kind).model


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
    if dtype == BFLOAT16:
        check_bfloat16(how == KERNELS)
    if how == KERNELS:
        model = compile_with_kernels(load_pretrained(checkpoint), CPU(), slice(None), dtype == BFLOAT16)
    else:
        model = compile_plain(load_pretrained(checkpoint) if dtype == "float32" else load_quantized(checkpoint, dtype))

    def run(ids: np.ndarray) -> np.ndarray:
        model.cached_ids = model.cached_ids[:, :0]  # the cache stays, and all of it is written anew
        return model(ids)

    return run


if __name__ == "__main__":
    install_hooks()
    be(f"MAX {version('max')}", prepare)
