"""OpenVINO, on a graph whose cache is its own state; told to compute in float32, where it would choose bfloat16."""

from __future__ import annotations

import sys
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import psutil

from tools.benchmarks.backends import Call, Read, Workload, be
from tools.benchmarks.peers.programs import graphs


class OpenVinoPeer:
    """A compiled model, loaded when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "openvino" / "model.xml"

    def about(self) -> dict[str, Any]:
        """Return the version of what runs here."""
        return {"version": f"OpenVINO {openvino.__version__.partition('-')[0]}"}

    @cached_property
    def model(self) -> Any:
        """The compiled model: float32 also in its cache, one thread per core, one request at a time."""
        settings = {
            "INFERENCE_PRECISION_HINT": "f32",
            "KV_CACHE_PRECISION": "f32",
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": psutil.cpu_count(logical=False) or 1,
        }
        return openvino.Core().compile_model(self.file, "CPU", settings)

    @cached_property
    def request(self) -> Any:
        """What runs the model, and has the cache."""
        return self.model.create_infer_request()

    def prepare(self, workload: Workload) -> tuple[Call, Read]:
        """Return a workload as a function with its input in place, and how to read what it returns."""
        vocab_size = self.model.output("logits").partial_shape[2].get_length()
        return graphs.prepare(workload, vocab_size, self.begin)

    def begin(self, batch: int) -> graphs.Step:
        """Return a step for so many sequences, its cache empty."""
        self.request.reset_state()

        def step(ids: np.ndarray, places: np.ndarray) -> np.ndarray:
            inputs = {"input_ids": ids, "kept": places, "rows": np.arange(batch)}
            return self.request.infer(inputs, share_inputs=True, share_outputs=True)["logits"]

        return step


if __name__ == "__main__":
    be(lambda: OpenVinoPeer(Path(sys.argv[1])), sys.argv[2:])
