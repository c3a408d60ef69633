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
from max.experimental.tensor import TensorType

from checker.device import DeviceKind
from checker.max_adapter import runtime
from checker.max_adapter.hooks import install_hooks
from play.generation.engine import Writer, load_quantized
from play.generation.talker import LlamaWriter
from play.kernels.modules import compile_with_kernels
from play.smollm2 import CONTEXT, is_llama
from play.startup import check_bfloat16
from solutions.checkpoint import read_config
from solutions.solution_12 import Sampling, generate_tokens
from solutions.solution_13 import load_pretrained
from tools.benchmarks.workers import BFLOAT16, FORWARD, GPU, GPU_AGAIN, KERNELS, Call, Read, Workload, work


def prepare(checkpoint: Path, workload: Workload) -> tuple[Call, Read]:
    """Return a workload as a function, compiled and with its input in place, and how to read what it returns."""
    if workload.part == FORWARD:
        ids = workload.token_ids(read_config(checkpoint).vocab_size)
        model = whole(checkpoint, workload.how, workload.dtype)
        return lambda: model(ids), lambda logits: logits[:, -1]
    on_gpu = workload.how in (GPU, GPU_AGAIN)
    model = with_cache(checkpoint, GPU if on_gpu else workload.how, workload.dtype)
    ids = workload.token_ids(model.config.vocab_size)

    def write() -> np.ndarray:
        # Nothing computed by an earlier run helps this one; with as many rows as before, its buffers do. To fill those
        # of eight rows with zeros takes longer than 32 tokens where a page of memory is slow to get.
        model.cached_ids = np.zeros((0, 0), np.int64) if workload.how == GPU else model.cached_ids[:, :0]
        greedy, n_positions = Sampling(temperature=0), model.config.n_positions
        return generate_tokens(model, ids, workload.new_tokens, greedy, n_positions=n_positions)[:, workload.length :]

    return write, lambda text: text


@cache
def with_cache(checkpoint: Path, how: str, dtype: str) -> Any:
    """Return the model with its cache, as ``./run generate`` runs it."""
    device = DeviceKind.GPU if how == GPU else DeviceKind.CPU
    if is_llama(checkpoint):
        return LlamaWriter(checkpoint, device, CONTEXT, kernels=how == KERNELS).model
    kind: Any = {"dtype" if dtype in ("float32", BFLOAT16) else "quantize": dtype}
    return Writer(checkpoint, device, kernels=how == KERNELS, **kind).model


@cache
def whole(checkpoint: Path, how: str, dtype: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return the model as a function of all tokens, for the logits of all: with kernels, it also fills a cache."""
    if dtype == BFLOAT16:
        check_bfloat16(how == KERNELS)
    if how != KERNELS:
        model = load_pretrained(checkpoint) if dtype == "float32" else load_quantized(checkpoint, dtype)
        graph = model.compile(TensorType(DType.int64, ["batch", "seq"], CPU()))
        return lambda ids: np.from_dlpack(graph(runtime.tensor(ids)))
    cached = compile_with_kernels(load_pretrained(checkpoint), CPU(), slice(None), dtype == BFLOAT16)

    def run(ids: np.ndarray) -> np.ndarray:
        cached.cached_ids = cached.cached_ids[:, :0]  # the cache stays, and all of it is written anew
        return cached(ids)

    return run


if __name__ == "__main__":
    install_hooks()
    work(f"MAX {version('max')}", prepare)
