"""PyTorch's attention, linear layers and products, one thread per physical core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import torch
from torch.nn import functional

from tools.benchmarks.kernels.shapes import CORE, DEPTH, HEADS, LINEAR, WIDTH, each_layer, in_a_row, inputs, repeats
from tools.benchmarks.workers import Call, Read, Workload, be


def prepare(folder: Path, workload: Workload) -> tuple[Call, Read]:
    """Return a workload of ``shapes`` as a function, and how to read what it returns."""
    tensors = [torch.from_numpy(array) for array in inputs(workload)]

    def call() -> list[Any]:
        if workload.part == LINEAR:
            return each_layer(functional.linear, *tensors)
        if workload.part != CORE:
            return [tensors[0] @ tensors[1].T]
        parts = tensors[0].split(WIDTH, dim=-1)
        query, key, value = (part.unflatten(-1, (HEADS, DEPTH)).transpose(1, 2) for part in parts)
        for _ in range(repeats(workload.length)):
            output = functional.scaled_dot_product_attention(query, key, value, is_causal=workload.length > 1)
        return [output.transpose(1, 2).flatten(2)]  # the heads side by side, as every user needs them

    return call, lambda outputs: in_a_row([output.numpy() for output in outputs])


if __name__ == "__main__":
    torch.set_num_threads(psutil.cpu_count(logical=False) or 1)
    torch.set_grad_enabled(False)
    be(f"torch {torch.__version__}", prepare)
