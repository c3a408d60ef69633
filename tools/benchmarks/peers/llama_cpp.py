"""llama.cpp in Python's ``xllamacpp``, on the same GGUF file, whose weights stay in blocks; a thread per core."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import psutil
import xllamacpp

from play.smollm2 import CONTEXT
from tools.benchmarks.workers import Call, Read, Workload, work

VOCABULARY = 49152  # SmolLM2's


def prepare(checkpoint: Path, workload: Workload) -> tuple[Call, Read]:
    """Return a workload as a function, and what reads the tokens of its text: they come with their probabilities."""
    model, (ids,) = loaded(checkpoint), workload.token_ids(VOCABULARY).tolist()
    request = {"prompt": ids, "max_tokens": workload.new_tokens, "temperature": 0, "ignore_eos": True}
    request["cache_prompt"] = False  # nothing computed by an earlier run helps this one

    def tokens(_: object) -> np.ndarray:
        (choice,) = model.handle_completions({**request, "logprobs": 1})["choices"]
        return np.array([[token["id"] for token in choice["logprobs"]["content"]]])

    return lambda: model.handle_completions(request), tokens


@cache
def loaded(file: Path) -> xllamacpp.Server:
    """Return the model of a file, as its users run it: on one thread per physical core."""
    options = xllamacpp.CommonParams()
    options.model.path, options.n_ctx, options.n_parallel, options.verbosity = str(file), CONTEXT, 1, -1
    for threads in (options.cpuparams, options.cpuparams_batch):
        threads.n_threads = psutil.cpu_count(logical=False) or 1
    return xllamacpp.Server(options)


if __name__ == "__main__":
    work(f"llama.cpp in xllamacpp {version('xllamacpp')}", prepare)
