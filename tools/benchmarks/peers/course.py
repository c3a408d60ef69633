"""This course's solutions, compiled by MAX: as they are, with the kernels of ``play``, or with rounded weights."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from max.driver import CPU
from max.dtype import DType
from max.graph import DeviceRef, TensorType

from checker.max_adapter import runtime
from play.engine import Writer, load_quantized
from play.kernels.modules import with_kernels, with_linear
from play.kernels.operations import loaded
from solutions.solution_12 import generate_tokens
from solutions.solution_13 import load_pretrained, read_config
from tools.benchmarks.workers import Call, Read, Workload, be

KERNELS = "kernels"  # a way to run the model


def prepare(folder: Path, workload: Workload) -> tuple[Call, Read]:
    """Return a prompt's logits, or greedy text, as a function; logits are read of the last token."""
    ids = workload.token_ids(read_config(folder / "checkpoint").vocab_size)
    if workload.part == "forward":
        graph, tokens = whole(folder / "checkpoint", workload.how, workload.dtype), runtime.tensor(ids)
        return lambda: np.from_dlpack(graph(tokens)), lambda logits: logits[:, -1]
    model = with_cache(folder / "checkpoint", workload.how, workload.dtype)

    def write() -> np.ndarray:
        model.cached_ids = np.zeros((0, 0), np.int64)  # nothing from an earlier run helps this one
        return generate_tokens(model, ids, workload.new_tokens, temperature=0)[:, workload.length :]

    return write, lambda text: text


@cache
def with_cache(checkpoint: Path, how: str, dtype: str) -> Any:
    """Return the model with its cache, as ``./run generate`` runs it."""
    return Writer(checkpoint, kernels=how == KERNELS, quantize=None if dtype == "float32" else dtype).model


@cache
def whole(checkpoint: Path, how: str, dtype: str) -> Any:
    """Return the model without a cache, for the logits of all tokens."""
    ids = TensorType(DType.int64, ["batch", "seq"], DeviceRef.from_device(CPU()))
    if how != KERNELS:
        return (load_pretrained(checkpoint) if dtype == "float32" else load_quantized(checkpoint, dtype)).compile(ids)
    model = with_kernels(load_pretrained(checkpoint))
    with_linear(model)
    with loaded():
        return model.compile(ids)


if __name__ == "__main__":
    runtime.prepare()
    be(f"MAX {version('max')}", prepare)
