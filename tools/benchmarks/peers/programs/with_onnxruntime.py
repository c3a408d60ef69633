"""ONNX Runtime, on a graph that torch exported; keys and values stay in its own memory between tokens."""

from __future__ import annotations

import sys
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import psutil

from tools.benchmarks.backends import Call, Read, Workload, be
from tools.benchmarks.peers.programs import graphs


class OnnxRuntimePeer:
    """A session, loaded when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "onnx" / "model.onnx"

    def about(self) -> dict[str, Any]:
        """Return the version of what runs here."""
        return {"version": f"ONNX Runtime {onnxruntime.__version__}"}

    @cached_property
    def session(self) -> Any:
        """The graph with all of ONNX Runtime's optimizations, one thread per core."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = psutil.cpu_count(logical=False) or 1
        return onnxruntime.InferenceSession(self.file, options, providers=["CPUExecutionProvider"])

    def prepare(self, workload: Workload) -> tuple[Call, Read]:
        """Return a workload as a function with its input in place, and how to read what it returns."""
        vocab_size = self.session.get_outputs()[0].shape[-1]
        return graphs.prepare(workload, vocab_size, self.begin, onnxruntime.OrtValue.numpy)

    def begin(self, batch: int) -> graphs.Step:
        """Return a step for so many sequences, its cache empty."""
        value = onnxruntime.OrtValue.ortvalue_from_numpy
        outputs = [port.name for port in self.session.get_outputs()]
        past = [port for port in self.session.get_inputs() if port.name.startswith("past.")]
        cache = {port.name: value(np.zeros((batch, port.shape[1], 0, port.shape[3]), np.float32)) for port in past}
        rows = {"rows": value(np.arange(batch))} if "rows" in {port.name for port in self.session.get_inputs()} else {}

        def step(ids: np.ndarray, places: np.ndarray) -> Any:
            inputs = {"input_ids": value(ids), "kept": value(places), **rows, **cache}
            logits, *longer = self.session.run_with_ort_values(outputs, inputs)
            cache.update(zip(cache, longer, strict=True))
            return logits

        return step


if __name__ == "__main__":
    be(lambda: OnnxRuntimePeer(Path(sys.argv[1])), sys.argv[2:])
