"""torch's linear layers, attention's core and product."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import psutil
import torch
from torch.nn import functional

from tools.benchmarks import shapes
from tools.benchmarks.workers import Call, Read, Workload, work


@cache
def layers(dtype: str):
    return [
        (torch.from_numpy(w).to(getattr(torch, dtype)), torch.from_numpy(b).to(getattr(torch, dtype)))
        for w, b in shapes.parameters()
    ]


def prepare(checkpoint: Path, workload: Workload) -> tuple[Call, Read]:
    dtype = getattr(torch, workload.dtype)
    tensors = [torch.from_numpy(array).to(dtype) for array in shapes.inputs(workload)]
    read = lambda outputs: shapes.in_a_row([output.float().numpy() for output in outputs])

    @torch.inference_mode()
    def call():
        if workload.part == shapes.LINEAR:
            narrow, wide = tensors
            return [
                functional.linear(narrow if w.shape[1] == shapes.WIDTH else wide, w, b)
                for w, b in layers(workload.dtype)
            ]
        if workload.part == shapes.PRODUCT:
            return [tensors[0] @ tensors[1].T]
        parts = tensors[0].split(shapes.WIDTH, dim=-1)
        query, key, value = (p.unflatten(-1, (shapes.HEADS, shapes.DEPTH)).transpose(1, 2) for p in parts)
        for _ in range(shapes.repeats(workload.length)):
            output = functional.scaled_dot_product_attention(query, key, value, is_causal=workload.length > 1)
        return [output.transpose(1, 2).flatten(2)]

    return call, read


if __name__ == "__main__":
    torch.set_num_threads(psutil.cpu_count(logical=False) or 1)
    work(f"torch {torch.__version__}", prepare)
