"""Compare libraries that take turns: their outputs first, and only what computes the same is timed.

Each way runs in a process of its own (``workers.py``), which stays alive and waits while another has its turn.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from checker.course.steps import ROOT
from checker.errors import UserError
from checker.numeric.tolerance import TOLERANCE
from tools.benchmarks import preparing
from tools.benchmarks.harness import say, take_turns
from tools.benchmarks.preparing import COURSE
from tools.benchmarks.workers import Workload

LONGEST_LOG = 3000  # characters of what a process said before it ended


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

    @property
    def process(self) -> tuple[str, str, str]:
        """What ways have in common that share a process: on a GPU also those with a new and with a used cache."""
        return self.library, self.dtype, self.how.partition(",")[0]

    def of(self, workload: Workload) -> Workload:
        """Return a workload as this way runs it."""
        return replace(workload, how=self.how, dtype=self.dtype)


def largest_difference(actual: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest difference of two outputs of one shape; of numbers above one, as a share of the largest."""
    return float(np.abs(actual - expected).max() / np.abs(expected).max(initial=1.0))


class Worker:
    """A library, alive in a process of its own, idle until it is asked; its version is empty if it has not begun."""

    def __init__(self, command: Sequence[str]) -> None:
        self.log, pipe = tempfile.TemporaryFile("w+"), subprocess.PIPE  # noqa: SIM115 (closed by close)
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=self.log, text=True)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.requests, self.answers = self.process.stdin, self.process.stdout
        self.version = self.answers.readline().strip()

    def ask(self, do: str, workload: Workload | None = None, **more: Any) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            UserError: the library could not do it, or is gone; the message quotes its last words.
        """
        line = ""
        with suppress(BrokenPipeError):
            request = {"do": do, **({"workload": asdict(workload)} if workload else {}), **more}
            print(json.dumps(request), file=self.requests, flush=True)
            line = self.answers.readline()
        if not line:
            self.log.seek(0)
            raise UserError(f"the process has ended; it said: {self.log.read()[-LONGEST_LOG:]}")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise UserError(f"{workload or do} failed: {reply['error']}")
        return reply

    def peak(self) -> int:
        """Return the most memory in bytes that it has had resident; where the system does not say, what it has now."""
        status = Path(f"/proc/{self.process.pid}/status")
        if status.is_file() and (peak := re.search(r"VmHWM:\s+(\d+) kB", status.read_text())):
            return 1024 * int(peak[1])
        return psutil.Process(self.process.pid).memory_info().rss

    def close(self) -> None:
        """End the process."""
        self.process.communicate()
        self.log.close()


Times = dict[str, list[float]]  # by the title of a way: a figure for each round
#: Makes a figure of a turn, of a function that times a workload in the way whose turn it is, and the workload.
Measure = Callable[[Callable[[Workload], float], Workload], float]


class Comparison:
    """The ways that are compared, each in a process from when it is first needed; they take turns in rounds.

    Args:
        checkpoint: what they load.
        reference: the way whose outputs are right.
        rounds: how often each way is timed.
        turn: seconds for which calls are repeated, far above the clock's own uncertainty.
        difference: how far an output is from the reference's, in what the ways' tolerances count.
    """

    def __init__(
        self,
        checkpoint: Path,
        reference: Way,
        rounds: int,
        turn: float,
        difference: Callable[[np.ndarray, np.ndarray], float] = largest_difference,
    ) -> None:
        self.checkpoint, self.reference, self.difference = checkpoint, reference, difference
        self.rounds, self.turn = rounds, turn
        self.workers: dict[tuple[str, str, str], Worker] = {}
        self.versions: dict[str, str] = {}  # of the libraries that were needed
        self.right: dict[Workload, np.ndarray] = {}  # the reference's outputs
        self.failed: dict[str, str] = {}  # by the title of a way: why it is timed no more

    def close(self) -> None:
        """End all processes; what is needed again begins anew."""
        while self.workers:
            self.workers.popitem()[1].close()

    def output(self, way: Way, workload: Workload) -> tuple[np.ndarray, float]:
        """Return what a way computes, and about how long it takes.

        Raises:
            UserError: it could not run that.
        """
        if way.process not in self.workers:
            worker = self.workers[way.process] = Worker(preparing.command(way.library, way.dtype, self.checkpoint))
            self.versions |= {way.library: worker.version} if worker.version else {}
        with tempfile.NamedTemporaryFile() as file:
            reply = self.workers[way.process].ask("output", way.of(workload), file=file.name)
            return np.fromfile(file.name, "<f4").reshape(reply["shape"]), reply["seconds"]

    def peaks(self, workload: Workload, ways: Iterable[Way]) -> dict[str, int]:
        """Return the peak memory in bytes of a fresh process for each way, by its title, as it runs one workload."""
        peaks = {}
        for way in ways:
            with self.leaving_out(way, workload):
                command = preparing.command(way.library, way.dtype, self.checkpoint)
                with closing(Worker(command)) as worker:
                    worker.ask("time", way.of(workload))
                    peaks[way.title] = worker.peak()
        return peaks

    @contextmanager
    def leaving_out(self, way: Way, workload: Workload) -> Iterator[None]:
        """Leave out a way from now on if it fails here.

        Raises:
            UserError: it is this course in float32, without which there is nothing to compare.
        """
        try:
            yield
        except UserError as error:
            self.failed[way.title] = why = f"{workload}: {error}"[-LONGEST_LOG:]
            if way.library == COURSE and way.dtype == "float32":
                raise UserError(f"{way.title}, {why}") from error
            say(f"  {way.title} is not timed: {why}")

    def run(
        self,
        workload: Workload,
        ways: Iterable[Way],
        measure: Measure | None = None,
        scores: str = "",
        rounds: int = 0,
    ) -> Times:
        """Compare the outputs of some ways, then time those that are right, in turns.

        Args:
            workload: what they run.
            ways: the ways; one that fails, or is wrong, is left out from then on, and ``failed`` says why.
            measure: makes a figure of a turn; without it, a figure is the time of the workload.
            scores: the part of the reference to compare with, if not the workload's own.
            rounds: how often each way is timed, if not as often as usual.

        Raises:
            UserError: this course, or the reference, could not run it, or this course computes something else in
                float32, so there is nothing to time.
        """
        if (work := replace(workload, part=scores or workload.part)) not in self.right:
            self.right[work], _ = self.output(self.reference, work)
        calls, expected = dict[Way, int](), self.right[work]
        for way in (way for way in ways if way.title not in self.failed):
            with self.leaving_out(way, workload):
                actual, seconds = self.output(way, workload)
                if actual.shape != (shape := expected.shape[: actual.ndim]):
                    raise UserError(f"the output has the shape {actual.shape} instead of {shape}")
                if not (difference := self.difference(actual, expected)) <= way.tolerance:  # nor NaN
                    raise UserError(f"it differs by {difference:.1e}; {way.tolerance:.0e} is allowed")
                calls[way] = max(1, round(self.turn / seconds))

        def figure(way: Way) -> float:
            def seconds(part: Workload) -> float:
                return self.workers[way.process].ask("time", way.of(part), calls=calls[way])["seconds"]

            return measure(seconds, workload) if measure else seconds(workload)

        times = {way.title: some for way, some in take_turns(calls, rounds or self.rounds, figure).items()}
        say(f"  {workload}: " + ", ".join(f"{title} {min(some):.4g}" for title, some in times.items()))
        for worker in self.workers.values():
            with suppress(UserError):
                worker.ask("forget")
        return times

    def run_anew(
        self,
        workloads: Iterable[Workload],
        ways: Sequence[Way],
        measure: Measure | None = None,
        scores: str = "",
    ) -> dict[Workload, Times]:
        """Do what ``run`` does for some workloads, with new processes in every round.

        Of two processes of one way, one may be slower by some percent for as long as it lives.
        """
        times: dict[Workload, Times] = {workload: {} for workload in workloads}
        for turn in range(self.rounds):
            self.close()
            for workload, all_rounds in times.items():
                now = self.run(workload, ways[::-1] if turn % 2 else ways, measure, scores, rounds=1)
                for title, some in now.items():
                    all_rounds.setdefault(title, []).extend(some)
        return times
