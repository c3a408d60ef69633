"""OpenVINO, on a graph whose cache is its own state; told to compute in float32, where it would choose bfloat16."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import psutil

from tools.benchmarks.formats import place
from tools.benchmarks.peers import graphs
from tools.benchmarks.workers import Call, Read, Workload, work


@cache
def model_of(file: Path, hint: str) -> tuple[Any, Any]:
    settings = {
        "INFERENCE_PRECISION_HINT": "f32",
        "KV_CACHE_PRECISION": "f32",
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": psutil.cpu_count(logical=False) or 1,
    }
    if hint == "bfloat16":
        settings |= {"INFERENCE_PRECISION_HINT": "bf16", "KV_CACHE_PRECISION": "bf16"}
    model = openvino.Core().compile_model(file, "CPU", settings)
    return model, model.create_infer_request()


def prepare(checkpoint: Path, workload: Workload) -> tuple[Call, Read]:
    model, request = model_of(place(checkpoint, "openvino") / "model.xml", workload.dtype)

    def begin(batch: int) -> graphs.Step:
        request.reset_state()

        def step(ids: np.ndarray, places: np.ndarray) -> np.ndarray:
            inputs = {"input_ids": ids, "kept": places, "rows": np.arange(batch)}
            return request.infer(inputs, share_inputs=True, share_outputs=True)["logits"]

        return step

    vocab_size = model.output("logits").partial_shape[2].get_length()
    return graphs.prepare(workload, vocab_size, begin)


if __name__ == "__main__":
    work(f"OpenVINO {openvino.__version__.partition('-')[0]}", prepare)
