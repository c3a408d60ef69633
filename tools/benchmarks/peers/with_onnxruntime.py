"""ONNX Runtime, on a graph that torch exported; keys and values stay in its own memory between tokens."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import psutil

from tools.benchmarks.formats import place
from tools.benchmarks.peers import graphs
from tools.benchmarks.workers import Call, Read, Workload, work


@cache
def session_of(file: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = psutil.cpu_count(logical=False) or 1
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


def prepare(checkpoint: Path, workload: Workload) -> tuple[Call, Read]:
    session = session_of(place(checkpoint, "onnx") / "model.onnx")
    value = onnxruntime.OrtValue.ortvalue_from_numpy

    def begin(batch: int) -> graphs.Step:
        outputs = [port.name for port in session.get_outputs()]
        past = [port for port in session.get_inputs() if port.name.startswith("past.")]
        kept = {port.name: value(np.zeros((batch, port.shape[1], 0, port.shape[3]), np.float32)) for port in past}
        rows = {"rows": value(np.arange(batch))} if "rows" in {port.name for port in session.get_inputs()} else {}

        def step(ids: np.ndarray, places: np.ndarray) -> Any:
            inputs = {"input_ids": value(ids), "kept": value(places), **rows, **kept}
            logits, *longer = session.run_with_ort_values(outputs, inputs)
            kept.update(zip(kept, longer, strict=True))
            return logits

        return step

    vocab_size = session.get_outputs()[0].shape[-1]
    return graphs.prepare(workload, vocab_size, begin, onnxruntime.OrtValue.numpy)


if __name__ == "__main__":
    work(f"ONNX Runtime {onnxruntime.__version__}", prepare)
