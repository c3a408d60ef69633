"""Run what all peers can do, in turns, after their outputs were compared; keep the figures by processor."""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from checker.processor import instruction_sets
from tools.benchmarks.backends import Workload
from tools.benchmarks.comparison import LONGEST_LOG, Worker, first_result
from tools.benchmarks.harness import (
    Result,
    Row,
    conditions,
    finish,
    key,
    milliseconds,
    read,
    say,
    seconds,
    take_turns,
)
from tools.benchmarks.peers.catalog import (
    CHECKPOINT,
    MOST_TOKENS,
    REFERENCE,
    Way,
    command,
    not_worth_waiting_for,
    ways_of,
)
from tools.benchmarks.peers.models import ready
from tools.benchmarks.peers.outputs import DifferentOutput, compare, log_probabilities
from tools.benchmarks.peers.results import as_markdown, merge

Pause = Callable[[], None]  # called before something is timed

START_LENGTH, MEMORY_TOKENS = 8, 4


@dataclass(frozen=True)
class Plan:
    """What is run.

    Args:
        parts: some of ``prefill``, ``generation``, ``start`` and ``memory``.
        lengths: tokens of a prompt whose forward pass is timed.
        prompts: tokens of a prompt after which text is written.
        batches: how many sequences at once.
        new_tokens: how many tokens are written.
        turn: seconds for which calls are repeated.
    """

    parts: tuple[str, ...] = ("prefill", "generation", "start", "memory")
    lengths: tuple[int, ...] = (1, 8, 64, 128, 512, 1024)
    prompts: tuple[int, ...] = (16, 512)
    batches: tuple[int, ...] = (1, 8)
    new_tokens: int = 33  # the first is the prompt's; the other 32 are timed
    turn: float = 0.3

    def forwards(self) -> list[Workload]:
        """Return the forward passes: all lengths, in each batch those that are not too large in all."""
        shapes = [(batch, length) for batch in self.batches for length in self.lengths]
        return [Workload("forward", "", *shape) for shape in shapes if shape[0] * shape[1] <= MOST_TOKENS]

    def workloads(self) -> list[Workload]:
        """Return all that is timed in processes that stay alive: texts also up to their first token."""
        forwards = self.forwards() if "prefill" in self.parts else []
        texts = self.texts() if "generation" in self.parts else []
        return forwards + [one for work in texts for one in (work, replace(work, new_tokens=1))]

    def texts(self) -> list[Workload]:
        """Return the texts to write."""
        return [
            Workload("text", "", batch, length, self.new_tokens) for batch in self.batches for length in self.prompts
        ]


SMALL = Plan(lengths=(1, 8), prompts=(8,), batches=(1, 2), new_tokens=5, turn=0.01)


def plan_of(small: bool, *, parts: list[str] | None, lengths: list[int] | None, batches: list[int] | None) -> Plan:
    """Return the plan, with what is not None in place of its own; lengths are those of all prompts."""
    given = {"parts": parts, "lengths": lengths, "prompts": lengths, "batches": batches}
    wanted: dict[str, Any] = {name: tuple(values) for name, values in given.items() if values}
    return replace(SMALL if small else Plan(), **wanted)


@dataclass
class Checked:
    """What running a workload once in every way has shown: how often to call each, how much it differs, what failed."""

    calls: dict[Way, int] = field(default_factory=dict)
    differences: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def row(self, workload: Workload) -> Row:
        """Return a row without its figures."""
        sizes = {"batch": workload.batch, "length": workload.length}
        return sizes | {"differences": self.differences, "failed": self.failed}


# ---------------------------------------------------------------- processes


class Peers:
    """The programs of all peers that are compared, alive.

    Args:
        folder: the models of all formats.
        ways: the ways to time.
        turn: seconds for which calls are repeated.
    """

    def __init__(self, folder: Path, ways: Sequence[Way], turn: float) -> None:
        self.ways, self.turn = list(ways), turn
        self.checked: dict[Workload, Checked] = {}
        self.different: dict[str, str] = {}
        self.scratch = tempfile.TemporaryDirectory()
        self.workers: dict[str, Worker] = {}
        for peer in dict.fromkeys([REFERENCE.peer, *(way.peer for way in ways)]):
            log = Path(self.scratch.name) / f"{peer}.log"
            self.workers[peer] = Worker(peer, command(peer, folder), log)

    def close(self) -> None:
        """End all processes."""
        for worker in self.workers.values():
            worker.close()
        self.scratch.cleanup()

    def versions(self) -> dict[str, str]:
        """Return the version of every library that answers."""
        found = {}
        for peer, worker in self.workers.items():
            with suppress(RuntimeError):  # a way of it says so when it is asked for its output
                found[peer] = worker.ask("about")["version"]
        return found

    def output(self, way: Way, workload: Workload) -> tuple[list[np.ndarray], float]:
        """Return what a way returns, and how long it takes about.

        Raises:
            RuntimeError: it could not run that.
        """
        file = Path(self.scratch.name) / "output"
        told = self.workers[way.peer].ask("output", way.of(workload), file=str(file.with_suffix(".npz")))["seconds"]
        read = np.load(file.with_suffix(".npz"))
        return [read] if isinstance(read, np.ndarray) else [read[name] for name in read.files], told

    def check(self, workload: Workload) -> None:
        """Run a workload in every way, compare what comes out, and remember how it is to be timed.

        All is loaded, compiled and warm after that. A way that fails is not timed with it, and a way whose output is
        another with no workload at all.
        """
        say(f"  {workload.part} of {workload.batch} x {workload.length}")
        arrays, _ = self.output(REFERENCE, workload)
        expected = log_probabilities(arrays[-1])  # of a text the second array: the logits of each new token
        found = self.checked[workload] = Checked()
        for way in tuple(self.ways):
            try:
                (actual, *_), about = self.output(way, workload)
                found.differences[way.title] = float(f"{compare(way, workload, actual, expected):.1e}")
                found.calls[way] = max(1, round(self.turn / about))
            except RuntimeError as error:
                found.failed[way.title] = str(error)[-LONGEST_LOG:]
                say(f"  {way.title} is not timed: {error}")
            except DifferentOutput as error:
                self.leave_out(way, f"{error} ({workload.part} of {workload.batch} x {workload.length})")

    def leave_out(self, way: Way, why: str) -> None:
        """Time a way with no workload, since what it computes is something else."""
        say(f"  {way.title} is not timed at all: {why}")
        self.different[way.title] = why
        self.ways = [other for other in self.ways if other != way]
        for found in self.checked.values():
            found.calls.pop(way, None)
            found.differences.pop(way.title, None)

    def time(self, way: Way, workload: Workload, calls: int) -> float:
        """Return the seconds that one of several calls takes."""
        return self.workers[way.peer].ask("time", way.of(workload), calls=calls)["seconds"]


# ---------------------------------------------------------------- parts


def prefill(peers: Peers, plan: Plan, rounds: int, pause: Pause) -> Iterator[Row]:
    """Time forward passes over a prompt."""
    for work in plan.forwards():
        found = peers.checked[work]
        row = found.row(work) | busy_now(pause)

        def seconds_of(way: Way, work: Workload = work, calls: dict[Way, int] = found.calls) -> float:
            return peers.time(way, work, calls[way])

        times = take_turns(found.calls, rounds, seconds_of, pause)
        yield told("ms", {way.title: milliseconds(some) for way, some in times.items()}) | row


def generation(peers: Peers, plan: Plan, rounds: int, pause: Pause) -> Iterator[Row]:
    """Time greedy text after a prompt: the later tokens, without the first, whose time is the prompt's."""
    for work in plan.texts():
        first = replace(work, new_tokens=1)
        row = peers.checked[work].row(work) | busy_now(pause)

        def rate(way: Way, work: Workload = work, first: Workload = first) -> float:
            whole, prompt = (peers.time(way, one, peers.checked[one].calls[way]) for one in (work, first))
            return work.batch * (work.new_tokens - 1) / (whole - prompt)

        ways = [way for way in peers.checked[work].calls if way in peers.checked[first].calls]
        rates = take_turns(ways, rounds, rate, pause)
        yield told("tokens/s", {way.title: seconds(some, 1) for way, some in rates.items()}) | row


def start(folder: Path, ways: Sequence[Way], rounds: int, pause: Pause) -> Row:
    """Time from starting a process to the first logits, of 8 tokens: imports, weights, and what is compiled anew."""
    work = Workload("forward", "", length=START_LENGTH)
    before = busy_now(pause)
    return before | fresh(
        ways, lambda way: first_result(command(way.peer, folder), way.of(work))[0], "seconds", rounds, pause
    )


def memory(folder: Path, ways: Sequence[Way], plan: Plan) -> Row:
    """Measure the most memory resident in a fresh process that loads a model and writes a few tokens after a prompt."""
    work = Workload("text", "", length=max(plan.prompts), new_tokens=MEMORY_TOKENS)
    found = fresh(ways, lambda way: first_result(command(way.peer, folder), way.of(work))[1] / 1e6, "MB", 1, no_pause)
    return {"batch": work.batch, "length": work.length, "rounds": 1} | found


def fresh(ways: Sequence[Way], measure: Callable[[Way], float], unit: str, rounds: int, pause: Pause) -> Row:
    """Measure fresh processes, which take turns; what fails is told."""
    failed: dict[str, str] = {}

    def guarded(way: Way) -> float:
        try:
            return measure(way) if way.title not in failed else math.nan
        except RuntimeError as error:
            failed[way.title] = str(error)[-LONGEST_LOG:]
            return math.nan

    found = take_turns(ways, rounds, guarded, pause)
    good = {way.title: seconds(some, 2) for way, some in found.items() if way.title not in failed}
    return told(unit, good) | {"failed": failed}


def told(unit: str, figures: dict[str, float]) -> Row:
    """Return the figures of a row under their unit, and say them."""
    say(f"  {unit}: " + ", ".join(f"{title} {figure}" for title, figure in figures.items()))
    return {unit: figures}


def busy_now(pause: Pause) -> Row:
    """Return how many cores other work takes, in the second before something is timed."""
    pause()
    return {"busy": round(psutil.cpu_percent(interval=1) / 100 * (psutil.cpu_count() or 1), 2)}


def no_pause() -> None:
    """Go on at once."""


class Enter:
    """Wait for Enter before something is timed, and again after so many seconds, so that others may work meanwhile."""

    def __init__(self, after: float) -> None:
        self.after, self.since = after, -math.inf

    def __call__(self) -> None:
        """Go on, or wait for Enter first."""
        if time.monotonic() - self.since > self.after:
            say("ready: end other work and press Enter")
            sys.stdin.readline()
            self.since = time.monotonic()


# ---------------------------------------------------------------- the whole


def measure(
    folder: Path, failed: dict[str, str], peers: Sequence[str], rounds: int, plan: Plan, pause: Pause = no_pause
) -> Result:
    """Return the figures of one run: by part, rows that each name their rounds, and what else ran before."""
    failed = failed | not_worth_waiting_for(ways_of(peers), instruction_sets())
    ways = [way for way in ways_of(peers) if way.title not in failed]
    write_prompts(folder, plan)
    result: Result = conditions(rounds) | {"instruction sets": instruction_sets(), "parts": {}}
    parts = result["parts"]
    running = Peers(folder, ways, plan.turn)
    try:
        result["versions"] = running.versions()
        for work in plan.workloads():
            running.check(work)
        ways, failed = running.ways, failed | running.different
        if "prefill" in plan.parts:
            parts["prefill"] = list(prefill(running, plan, rounds, pause))
        if "generation" in plan.parts:
            parts["generation"] = list(generation(running, plan, rounds, pause))
    finally:
        running.close()
    if "start" in plan.parts:
        parts["start"] = [start(folder, ways, rounds, pause)]
    if "memory" in plan.parts:
        parts["memory"] = [memory(folder, ways, plan)]
    for row in (row for rows in parts.values() for row in rows):
        row.setdefault("rounds", rounds)
        row["failed"] |= failed
    return result


def write_prompts(folder: Path, plan: Plan) -> None:
    """Write the prompts of all workloads, for the peer that has no NumPy."""
    vocab_size = json.loads((folder / CHECKPOINT / "config.json").read_text())["vocab_size"]
    shapes = {(1, START_LENGTH), (1, max(plan.prompts))}
    for one in (plan, Plan()):  # those of every run, since two may run at once
        shapes |= {(work.batch, work.length) for work in [*one.forwards(), *one.texts()]}
    works = [Workload("forward", "", *shape) for shape in sorted(shapes)]
    prompts = {f"{work.batch} x {work.length}": work.token_ids(vocab_size).tolist() for work in works}
    (folder / "prompts.json").write_text(json.dumps(prompts))


def run(plan: Plan, peers: Sequence[str], small: bool, wait: float | None, rounds: int, out: Path | None) -> None:
    """Time some peers, print the tables of this processor, and put its figures beside those of others.

    Args:
        plan: what is run.
        peers: some of ``PEERS``.
        small: run the model in the box instead of GPT-2 small.
        wait: wait for Enter once all is compiled, and again whenever so many seconds have passed.
        rounds: how often each way is timed.
        out: the file of figures, by processor; a row that was measured before is replaced.

    Raises:
        CannotPrepare: what all is compared with cannot be made.
        RuntimeError: it cannot be run.
    """
    folder, failed = ready(peers, small)
    pause = no_pause if wait is None else Enter(wait)
    result = measure(folder, failed, peers, rounds, plan, pause)
    merged = merge(read(out) if out else {}, result)
    finish(as_markdown({key(): merged[key()]}), merged, out)
