"""CTranslate2: its own kernels for Transformers, on converted weights."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import psutil

from tools.benchmarks.backends import Call, Read, Workload, be


class CTranslate2Peer:
    """A generator for each precision, loaded when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.generator = cache(self._load)

    def about(self) -> dict[str, Any]:
        """Return the version of what runs here."""
        return {"version": f"CTranslate2 {ctranslate2.__version__}"}

    def _load(self, dtype: str) -> tuple[Any, list[str]]:
        """Return a generator that uses all cores for one request, and the names of its tokens."""
        path = self.folder / f"ctranslate2-{dtype}"
        cores = psutil.cpu_count(logical=False) or 1
        generator = ctranslate2.Generator(str(path), compute_type=dtype, inter_threads=1, intra_threads=cores)
        return generator, json.loads((path / "vocabulary.json").read_text())

    def prepare(self, workload: Workload) -> tuple[Call, Read]:
        """Return a workload as a function with its input in place, and how to read what it returns."""
        generator, names = self.generator(workload.dtype)
        ids = workload.token_ids(len(names)).tolist()
        if workload.part == "forward":
            return lambda: generator.forward_batch(ids), lambda logits: [np.array(logits)]
        prompts = [[names[number] for number in row] for row in ids]

        def write() -> Any:
            return generator.generate_batch(
                prompts,
                max_length=workload.new_tokens,
                min_length=workload.new_tokens,
                sampling_topk=1,
                include_prompt_in_result=False,
            )

        return write, lambda texts: [np.array([text.sequences_ids[0] for text in texts])]


if __name__ == "__main__":
    be(lambda: CTranslate2Peer(Path(sys.argv[1])), sys.argv[2:])
