"""A library in a process of its own: it runs the workloads of a job, and leaves what came out beside the job.

In one process, the thread pools of MAX and torch would slow each other down by a fifth to a half.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Call = Callable[[], Any]  # runs a workload to its end, with its input in place
Read = Callable[[Any], np.ndarray]  # returns of what a call returned the numbers to compare
Prepare = Callable[[Path, "Workload"], tuple[Call, Read]]  # from a checkpoint
JOB, OUTPUTS, DONE = "job.json", "outputs.npz", "done.json"  # what a process reads, and what it leaves
FORWARD, TEXT = "forward", "text"  # parts: a prompt's logits, of which the last token's are read; greedy text
SCORES = "scores"  # a part of the reference: the logits by which each token of its text is chosen
KERNELS, BFLOAT16 = "kernels", "bfloat16"  # ways to run them
GPU, GPU_AGAIN = "gpu", "gpu, into the cache of the text before"
STRIDE = 7919  # a prime, so that tokens are scattered over any vocabulary


@dataclass(frozen=True)
class Workload:
    """One thing to run, on input that depends on nothing but the sizes.

    Args:
        part: what is run.
        batch: sequences.
        length: tokens in each; of a text, those of the prompt.
        new_tokens: how many tokens to write.
        how: one of the ways that the library knows.
        dtype: what the weights are kept in.
    """

    part: str
    batch: int = 1
    length: int = 1
    new_tokens: int = 0
    how: str = ""
    dtype: str = "float32"

    def __str__(self) -> str:
        written = f" + {self.new_tokens}" if self.new_tokens else ""
        return f"{self.part} of {self.batch} x {self.length}{written}"

    def token_ids(self, vocab_size: int) -> np.ndarray:  # -> [batch, length]
        """Return the prompts."""
        return (np.arange(self.batch * self.length) * STRIDE % vocab_size).reshape(self.batch, self.length)


def work(version: str, prepare: Prepare) -> None:
    """Do the job in the folder that the command line names: keep the numbers of each workload, and time it."""
    folder = Path(sys.argv[1])
    job, outputs, seconds = json.loads((folder / JOB).read_text()), [], []
    for stated in job["workloads"]:
        call, read = prepare(Path(job["checkpoint"]), Workload(**stated))
        outputs.append(read(call()))
        seconds.append(seconds_of(call, job["turn"]))
    np.savez(folder / OUTPUTS, *outputs)
    done = {"version": version, "seconds": seconds, "bytes": most_memory()}
    (folder / DONE).write_text(json.dumps(done))


def seconds_of(call: Call, turn: float) -> float:
    """Return how long a call takes, the mean of as many as fill a turn, at least one."""
    calls, start = 0, time.perf_counter()
    while not calls or time.perf_counter() - start < turn:
        call()
        calls += 1
    return (time.perf_counter() - start) / calls


def most_memory() -> int:
    """Return the most memory in bytes that this process has had resident."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
