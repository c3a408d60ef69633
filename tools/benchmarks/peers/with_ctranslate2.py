"""CTranslate2: its own kernels for Transformers, on converted weights."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import psutil

from tools.benchmarks.formats import place
from tools.benchmarks.workers import FORWARD, Call, Read, Workload, work


def prepare(checkpoint: Path, workload: Workload) -> tuple[Call, Read]:
    generator, names = loaded(place(checkpoint, f"ctranslate2-{workload.dtype}"), workload.dtype)
    ids = workload.token_ids(len(names)).tolist()
    if workload.part == FORWARD:
        return lambda: generator.forward_batch(ids), lambda logits: np.array(logits)[:, -1]
    prompts = [[names[number] for number in row] for row in ids]
    length = {"max_length": workload.new_tokens, "min_length": workload.new_tokens}

    def write() -> Any:
        return generator.generate_batch(prompts, **length, sampling_topk=1, include_prompt_in_result=False)

    return write, lambda texts: np.array([text.sequences_ids[0] for text in texts])


@cache
def loaded(model: Path, dtype: str) -> tuple[Any, list[str]]:
    cores = psutil.cpu_count(logical=False) or 1
    generator = ctranslate2.Generator(str(model), compute_type=dtype, inter_threads=1, intra_threads=cores)
    return generator, json.loads((model / "vocabulary.json").read_text())


if __name__ == "__main__":
    work(f"CTranslate2 {ctranslate2.__version__}", prepare)
