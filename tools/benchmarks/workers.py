"""A library in a process of its own: it says its version, then answers requests, a line of JSON each.

In one process, the thread pools of MAX and torch would slow each other down by a fifth to a half; idle ones do not.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Call = Callable[[], Any]  # runs a workload to its end, with its input in place
Read = Callable[[Any], np.ndarray]  # returns of what a call returned the numbers to compare
Prepare = Callable[[Path, "Workload"], tuple[Call, Read]]  # from a checkpoint, whose other formats lie beside it
FORWARD, TEXT = "forward", "text"  # parts: a prompt's logits, of which the last token's are read; greedy text
SCORES = "scores"  # a part of the reference: the logits by which each token of its text is chosen
KERNELS, COMPILED, EAGER, BFLOAT16 = "kernels", "torch.compile", "eager", "bfloat16"  # ways to run them
GPU, GPU_AGAIN = "gpu", "gpu, into the cache of the text before"
STRIDE = 7919  # a prime, so that tokens are scattered over any vocabulary


@dataclass(frozen=True)
class Workload:
    """One thing to run, on input that depends on nothing but the sizes.

    Args:
        part: what is run; a library says which parts it knows.
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
        """Return the prompts; llama_cpp.mjs makes the same."""
        return (np.arange(self.batch * self.length) * STRIDE % vocab_size).reshape(self.batch, self.length)


def be(version: str, prepare: Prepare) -> None:
    """Be a library: answer requests about the checkpoint that the command line names, until the input ends."""
    checkpoint = Path(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is not an answer
    print(version, file=answers, flush=True)
    prepared: dict[Workload, tuple[Call, Read]] = {}
    for line in sys.stdin:
        request = json.loads(line)
        reply: dict[str, Any] = {}
        try:
            if request["do"] == "forget":
                prepared.clear()
                gc.collect()
            else:
                workload = Workload(**request.pop("workload"))
                if workload not in prepared:
                    prepared[workload] = prepare(checkpoint, workload)
                reply = answer(*prepared[workload], **request)
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {str(error).strip()[:600]}"}
        print(json.dumps(reply), file=answers, flush=True)


def answer(call: Call, read: Read, do: str, calls: int = 1, file: str = "") -> dict[str, Any]:
    """Return the ``seconds`` that one of several calls takes; for ``output``, first write the numbers as float32."""
    reply: dict[str, Any] = {}
    if do == "output":
        array = read(call())
        array.astype("<f4").tofile(file)
        reply["shape"] = array.shape
        del array
    if calls > 1:
        call()  # threads that slept through the turns of others wake up
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return reply | {"seconds": (time.perf_counter() - start) / calls}
