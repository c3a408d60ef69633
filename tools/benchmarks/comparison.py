"""Compare two processes that take turns: outputs are compared before anything is timed; a wrong one ends the run.

Each backend runs in a process of its own (``backends.py``), which stays alive and waits while another has its turn.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from checker.course.paths import ROOT
from checker.numeric.tolerance import close
from tools.benchmarks.backends import Workload, as_request
from tools.benchmarks.harness import milliseconds, rest, say, take_turns
from tools.benchmarks.step import BFLOAT16

MAX, HUGGING_FACE, EAGER, COMPILED = "MAX", "Hugging Face", "eager", "torch.compile"  # ways to run a workload
NO_CACHE = "MAX without cache"
BACKENDS = {MAX: "max", HUGGING_FACE: "huggingface"}
LONGEST_LOG = 3000  # characters of what a process said before it ended
BACKEND = [sys.executable, "-m", "tools.benchmarks.backends"]


def command(way: str, folder: Path) -> list[str]:
    """Return what starts the process of one of ``BACKENDS`` with a checkpoint."""
    return [*BACKEND, BACKENDS[way], str(folder)]


class WrongOutput(Exception):
    """The two backends do not compute the same, so there is nothing to compare."""


class Worker:
    """One backend, alive in a process of its own, idle until it is asked.

    Args:
        backend: its name.
        command: what starts it.
        log: where its process says what is no answer.
    """

    def __init__(self, backend: str, command: Sequence[str], log: Path) -> None:
        self.backend, self.log = backend, log
        with log.open("w") as said:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )

    def ask(self, do: str, workload: Workload | None = None, **more: Any) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            RuntimeError: the backend could not do it, or is gone; the message quotes its last words.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            print(as_request(do, workload, **more), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RuntimeError(
                f"the process of {self.backend} has ended; it said: {self.log.read_text()[-LONGEST_LOG:]}"
            )
        said: dict[str, Any] = json.loads(line)
        if "error" in said:
            raise RuntimeError(f"{workload or do} failed: {said['error']}")
        return said

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def check_output(workload: Workload, actual: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """Return the largest difference between two outputs of one workload, relative to the largest number.

    For a text, the first array holds its tokens, and the second the logits that they were chosen by. A token may differ
    from Hugging Face's only where the logits of both are equal within the tolerance; texts are compared up to there.

    Raises:
        WrongOutput: the difference is larger than float32 sums in another order explain
        (``checker/numeric/tolerance.py``).
    """
    if workload.part == "text":
        (tokens, logits), (their_tokens, their_logits) = actual, expected
        differ = (tokens != their_tokens).any(axis=0)
        same = int(differ.argmax()) + 1 if differ.any() else tokens.shape[-1]
        actual, expected = [logits[:, :same]], [their_logits[:, :same]]
        if differ.any():  # what each one chose, by Hugging Face's logits
            last = their_logits[:, same - 1]
            chosen = [np.take_along_axis(last, ids[:, same - 1, None], axis=-1) for ids in (tokens, their_tokens)]
            actual, expected = [*actual, chosen[0]], [*expected, chosen[1]]
    largest = 0.0
    for ours, theirs in zip(actual, expected, strict=True):
        if ours.shape != theirs.shape:
            raise WrongOutput(f"{workload} has the shape {ours.shape}, and Hugging Face's output {theirs.shape}")
        size = float(np.abs(theirs).max(initial=1.0))
        difference = float(np.abs(ours - theirs).max()) / size
        largest = max(largest, difference)
        low = BFLOAT16 in (workload.dtype, workload.way)
        more = {"tolerance": 0.03} if low else {}  # 8 bits per number, over a sum of many
        if not close(ours, theirs, **more):
            raise WrongOutput(
                f"{workload} differs from Hugging Face by up to {difference:.1e} of its largest number: one of the two "
                "is wrong, and nothing was timed. `./run test` says whether the solutions are right."
            )
    return largest


class Comparison:
    """Both backends, and the rounds in which they take turns.

    Args:
        folder: the checkpoint that both load.
        scratch: a folder for what they return and say.
        rounds: how often each way is timed.
        turn: seconds for which calls are repeated, which is far above the clock's own uncertainty.
        theirs: another checkpoint for Hugging Face's model, to test that a difference is noticed.
    """

    def __init__(self, folder: Path, scratch: Path, rounds: int, turn: float, theirs: Path | None = None) -> None:
        self.folder, self.scratch, self.rounds, self.turn = folder, scratch, rounds, turn
        self.ours = Worker("max", command(MAX, folder), scratch / "max.log")
        self.theirs = Worker("huggingface", command(HUGGING_FACE, theirs or folder), scratch / "huggingface.log")
        self.failed: dict[str, str] = {}  # way -> why it cannot be timed here

    def close(self) -> None:
        """End both processes."""
        self.ours.close()
        self.theirs.close()

    def worker(self, workload: Workload) -> Worker:
        """Return the process that a way belongs to."""
        return self.ours if workload.way.startswith(MAX) else self.theirs

    def output(self, workload: Workload) -> tuple[list[np.ndarray], float]:
        """Return what a workload returns, and about how long it takes."""
        file = self.scratch / "output.npz"
        seconds = self.worker(workload).ask("output", workload, file=str(file))["seconds"]
        with np.load(file) as arrays:
            return [arrays[name] for name in arrays.files], seconds

    def run(
        self, workload: Workload, *ways: str, partial: Collection[str] = ()
    ) -> tuple[dict[str, list[float]], float]:
        """Return each way's seconds per call, one figure per round, and the largest difference from Hugging Face.

        The output of a ``partial`` way, which leaves some of the work out, is not compared.

        Raises:
            WrongOutput: one of them computes something else.
        """
        wanted, seconds = self.output(replace(workload, way=HUGGING_FACE))
        about, largest = {HUGGING_FACE: seconds}, 0.0
        for way in ways:
            if way == HUGGING_FACE or way in self.failed:
                continue
            this = replace(workload, way=way)
            try:
                actual, about[way] = self.output(this)
            except RuntimeError as error:
                if way != COMPILED:  # the one that needs a C++ compiler; the comparison stands without it
                    raise
                self.failed[way] = str(error)
                continue
            if way not in partial:
                largest = max(largest, check_output(this, actual, wanted))
        calls = {way: max(1, round(self.turn / about[way])) for way in ways if way in about}

        def seconds_of(way: str) -> float:
            this = replace(workload, way=way)
            return self.worker(this).ask("time", this, calls=calls[way])["seconds"]

        times = take_turns(calls, self.rounds, seconds_of)
        taken = ", ".join(f"{way} {milliseconds(some)} ms" for way, some in times.items())
        say(f"  {str(workload).split(' by ')[0]}: {taken}")
        return times, largest

    def forget(self) -> None:
        """Release the memory of all workloads."""
        self.ours.ask("forget")
        self.theirs.ask("forget")


def once(way: str, folder: Path, workload: Workload, **environment: str) -> tuple[float, int]:
    """Return the seconds from starting a fresh process to its first result, and its peak memory in bytes.

    Raises:
        RuntimeError: it ended without a result; the message quotes its last words.
    """
    return first_result(command(way, folder), workload, **environment)


def first_result(start_it: Sequence[str], workload: Workload, **environment: str) -> tuple[float, int]:
    """Return what :func:`once` does, of any process that takes a workload as JSON behind its command.

    Raises:
        RuntimeError: it ended without a result; what it said last is quoted.
    """
    rest()
    with tempfile.TemporaryFile("w+") as said:
        start = time.perf_counter()
        process = subprocess.Popen(
            [*start_it, json.dumps(asdict(workload))],
            cwd=ROOT,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        seconds = time.perf_counter() - start
        process.communicate()
        said.seek(0)
        if not line:
            raise RuntimeError(f"{workload} failed in a fresh process; it said: {said.read()[-LONGEST_LOG:]}")
    return seconds, json.loads(line)["peak"]


def write_checkpoint(folder: Path) -> None:
    """Write GPT-2 small with seeded weights, in a process of its own: torch would make this one large.

    Raises:
        RuntimeError: it could not be made.
    """
    say("seeded weights for GPT-2 small")
    made = subprocess.run([*BACKEND, "checkpoint", str(folder)], cwd=ROOT, capture_output=True, text=True, check=False)
    if made.returncode:
        raise RuntimeError(
            "the checkpoint could not be made; are torch and transformers installed? `./run bench` installs them. "
            + made.stderr[-LONGEST_LOG:]
        )


@contextmanager
def checkpoint(given: Path | None) -> Iterator[Path]:
    """Yield the folder that both backends load: the given one, or seeded weights for as long as this is open."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as name:
        write_checkpoint(Path(name))
        yield Path(name)
