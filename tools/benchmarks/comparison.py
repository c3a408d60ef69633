"""Compare libraries that take turns: their outputs first, and only what computes the same is timed.

Each library runs in a process of its own (``workers.py``), which stays alive and waits while another has its turn.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from checker.course.paths import ROOT
from checker.numeric.tolerance import TOLERANCE, close
from tools.benchmarks.harness import rest, say, take_turns
from tools.benchmarks.workers import Workload

COURSE, HUGGING_FACE = "course", "hugging-face"  # the two that run in this environment
LONGEST_LOG = 3000  # characters of what a process said before it ended


class WrongOutput(Exception):
    """A library computes something else, so it is not timed."""


@dataclass(frozen=True)
class Way:
    """One row, or column, of a table: a library, and how it runs workloads.

    Args:
        title: what tables and figures call it.
        library: the process that runs it.
        dtype: what its weights are kept in, as its users call it.
        how: the ``how`` of its workloads.
        tolerance: the largest difference from the reference's output that its numbers explain.
    """

    title: str
    library: str
    dtype: str = "float32"
    how: str = ""
    tolerance: float = TOLERANCE

    def of(self, workload: Workload) -> Workload:
        """Return a workload as this way runs it."""
        return replace(workload, how=self.how, dtype=self.dtype)


Compare = Callable[[Way, np.ndarray, np.ndarray], None]  # raises WrongOutput


def must_be_close(way: Way, actual: np.ndarray, expected: np.ndarray) -> None:
    """Compare two outputs.

    Raises:
        WrongOutput: they differ by more than the way's tolerance explains, or in shape.
    """
    if actual.shape != expected.shape:
        raise WrongOutput(f"the output has the shape {actual.shape} instead of {expected.shape}")
    if not close(actual, expected, tolerance=way.tolerance):
        raise WrongOutput(f"the output is off by {np.abs(actual - expected).max():.1e}, and nothing was timed")


class Worker:
    """One library, alive in a process of its own, idle until it is asked; it says in ``log`` what is no answer."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self.log, pipe = log, subprocess.PIPE
        with log.open("w") as errors:
            self.process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=errors, text=True)

    def ask(self, do: str, workload: Workload | None = None, **more: Any) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            RuntimeError: the library could not do it, or is gone; the message quotes its last words.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {"do": do, **({"workload": asdict(workload)} if workload else {}), **more}
        line = ""
        with suppress(BrokenPipeError):
            print(json.dumps(request), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process has ended; it said: {self.log.read_text()[-LONGEST_LOG:]}")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise RuntimeError(f"{workload or do} failed: {reply['error']}")
        return reply

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


@dataclass
class Timed:
    """What one workload has shown, by the title of a way: seconds of a call in each round, and why others failed."""

    times: dict[str, list[float]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


class Comparison:
    """The processes of all libraries that are compared, and the rounds in which they take turns.

    Args:
        commands: what starts each of them.
        reference: the way whose outputs are right.
        rounds: how often each way is timed.
        turn: seconds for which calls are repeated, far above the clock's own uncertainty.
        compare: compares two outputs.
    """

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        reference: Way,
        rounds: int,
        turn: float,
        compare: Compare = must_be_close,
    ) -> None:
        self.commands, self.reference, self.compare = commands, reference, compare
        self.rounds, self.turn = rounds, turn
        self.scratch = tempfile.TemporaryDirectory()
        self.file = Path(self.scratch.name) / "output"
        self.workers = {name: Worker(line, self.file.with_name(f"{name}.log")) for name, line in commands.items()}
        self.wrong: dict[str, str] = {}  # ways that computed something else once, and why; they are timed no more

    def close(self) -> None:
        """End all processes."""
        for worker in self.workers.values():
            worker.close()
        self.scratch.cleanup()

    def versions(self) -> dict[str, str]:
        """Return the version of every library that answers."""
        versions = {}
        for name, worker in self.workers.items():
            with suppress(RuntimeError):  # its ways say so when they are asked for an output
                versions[name] = worker.ask("version")["version"]
        return versions

    def output(self, way: Way, workload: Workload) -> tuple[np.ndarray, float]:
        """Return what a way computes, and about how long it takes.

        Raises:
            RuntimeError: it could not run that.
        """
        reply = self.workers[way.library].ask("output", way.of(workload), file=str(self.file))
        return np.fromfile(self.file, "<f4").reshape(reply["shape"]), reply["seconds"]

    def run(
        self,
        workload: Workload,
        ways: Iterable[Way],
        measure: Callable[[Callable[[Workload], float]], float] | None = None,
        expected: np.ndarray | None = None,
    ) -> Timed:
        """Compare the outputs of some ways, then time those that are right, in turns.

        Args:
            workload: what they run.
            ways: the ways; one that fails, or is wrong, is left out.
            measure: makes a figure of a turn; it gets a function that times a workload in the way whose turn it is.
                Without it, a figure is the time of the workload.
            expected: what to compare with, if not the reference's output of the workload.

        Raises:
            WrongOutput: this course computes something else in float32, so there is nothing to time.
            RuntimeError: this course, or the reference, could not run it.
        """
        expected = self.output(self.reference, workload)[0] if expected is None else expected
        timed, calls = Timed(), dict[Way, int]()
        for way in (way for way in ways if way.title not in self.wrong):
            try:
                actual, seconds = self.output(way, workload)
                self.compare(way, actual, expected)
                calls[way] = max(1, round(self.turn / seconds))
            except (RuntimeError, WrongOutput) as error:
                why = f"{workload}: {error}"[-LONGEST_LOG:]
                if way.library == COURSE and way.dtype == "float32":
                    raise type(error)(f"{way.title}, {why}") from error
                (timed.failed if isinstance(error, RuntimeError) else self.wrong)[way.title] = why
                say(f"  {way.title} is not timed: {why}")

        def figure(way: Way) -> float:
            def seconds(part: Workload) -> float:
                return self.workers[way.library].ask("time", way.of(part), calls=calls[way])["seconds"]

            return measure(seconds) if measure else seconds(workload)

        timed.times = {way.title: times for way, times in take_turns(calls, self.rounds, figure).items()}
        say(f"  {workload}: " + ", ".join(f"{title} {min(times):.4g}" for title, times in timed.times.items()))
        for worker in self.workers.values():
            with suppress(RuntimeError):
                worker.ask("forget")
        return timed


def peak_of(command: Sequence[str], workload: Workload) -> int:
    """Return the peak memory in bytes of a fresh process that runs one workload.

    Raises:
        RuntimeError: it ended without a result; the message quotes its last words.
    """
    rest()
    line = [*command, json.dumps(asdict(workload))]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(f"{workload} failed in a fresh process; it said: {done.stderr[-LONGEST_LOG:]}")
    return json.loads(done.stdout)["peak"]


def python(module: str, *arguments: object) -> list[str]:
    """Return the command that runs a module in this environment."""
    return [sys.executable, "-m", module, *map(str, arguments)]
