"""Hugging Face's GPT-2 in all its ways: how it attends, compiled or not, and in two precisions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tools.benchmarks.backends import HuggingFaceBackend, Workload, be
from tools.benchmarks.comparison import COMPILED, EAGER
from tools.benchmarks.peers.catalog import CHECKPOINT


class HuggingFacePeer(HuggingFaceBackend):
    """A model for each way and precision, loaded when it is first asked for."""

    def model(self, workload: Workload) -> Any:
        """Return the whole model in a way and a precision."""
        key = (workload.way, workload.dtype)
        if key not in self.models:
            model = self.load("eager" if workload.way == EAGER else "sdpa", workload.dtype)
            if workload.way == COMPILED:
                model.forward = self.torch.compile(model.forward, dynamic=True)
            self.models[key] = model
        return self.models[key]


if __name__ == "__main__":
    be(lambda: HuggingFacePeer(Path(sys.argv[1]) / CHECKPOINT), sys.argv[2:])
