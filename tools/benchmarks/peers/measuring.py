"""Run what all peers can do, in turns, after their outputs were compared; keep the figures by processor."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tools.benchmarks.backends import Workload
from tools.benchmarks.comparison import LONGEST_LOG, Worker, first_result
from tools.benchmarks.harness import Result, Row, conditions, finish, load, milliseconds, say, seconds, take_turns
from tools.benchmarks.peers.catalog import CHECKPOINT, REFERENCE, Way, command, ways_of
from tools.benchmarks.peers.models import ready
from tools.benchmarks.peers.outputs import DifferentOutput, compare, log_probabilities
from tools.benchmarks.peers.results import as_markdown, instruction_sets, key, merge, read

MOST_TOKENS = 1024  # of all sequences of a batch together: their logits fill 206 MB
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


# ---------------------------------------------------------------- processes


class Peers:
    """The programs of all peers that are compared, alive.

    Args:
        folder: the models of all formats.
        ways: the ways to time.
        rounds: how often each is timed.
        turn: seconds for which calls are repeated.
    """

    def __init__(self, folder: Path, ways: Sequence[Way], rounds: int, turn: float) -> None:
        self.folder, self.ways, self.rounds, self.turn = folder, ways, rounds, turn
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

    def time(self, workload: Workload) -> Row:
        """Return seconds per call of every way by its title, one per round; by how much each differs; and what failed.

        A way that fails, or whose output is another, is not timed.
        """
        arrays, _ = self.output(REFERENCE, workload)
        expected = log_probabilities(arrays[-1])  # of a text the second array: the logits of each new token
        calls: dict[Way, int] = {}
        row: Row = {"differences": {}, "failed": {}}
        for way in self.ways:
            try:
                (actual, *_), about = self.output(way, workload)
                row["differences"][way.title] = float(f"{compare(way, workload, actual, expected):.1e}")
                calls[way] = max(1, round(self.turn / about))
            except (RuntimeError, DifferentOutput) as error:
                row["failed"][way.title] = str(error)[-LONGEST_LOG:]
                say(f"  {way.title} is not timed: {error}")

        def seconds_of(way: Way) -> float:
            return self.workers[way.peer].ask("time", way.of(workload), calls=calls[way])["seconds"]

        times = take_turns(calls, self.rounds, seconds_of)
        say(", ".join(f"{way.title} {milliseconds(some, 1)} ms" for way, some in times.items()))
        return row | {"times": {way.title: some for way, some in times.items()}}

    def forget(self) -> None:
        """Have all peers give the memory of their workloads back."""
        for worker in self.workers.values():
            with suppress(RuntimeError):  # one that has ended has none
                worker.ask("forget")


# ---------------------------------------------------------------- parts


def prefill(peers: Peers, plan: Plan) -> Iterator[Row]:
    """Time forward passes over a prompt."""
    for work in plan.forwards():
        row = peers.time(work)
        times = row.pop("times")
        yield shape(work) | {"ms": {title: milliseconds(some) for title, some in times.items()}} | row
        peers.forget()


def generation(peers: Peers, plan: Plan) -> Iterator[Row]:
    """Time greedy text after a prompt: the later tokens, without the first, whose time is the prompt's."""
    for work in plan.texts():
        whole = peers.time(work)
        first = peers.time(replace(work, new_tokens=1))["times"]
        later = work.batch * (work.new_tokens - 1)
        rates = {
            title: [later / (all_ - one) for all_, one in zip(some, first[title], strict=True)]
            for title, some in whole.pop("times").items()
            if title in first
        }
        yield shape(work) | {"tokens/s": {title: seconds(some, 1) for title, some in rates.items()}} | whole
        peers.forget()


def start(folder: Path, ways: Sequence[Way], rounds: int) -> Row:
    """Time from starting a process to the first logits, of 8 tokens: imports, weights, and what is compiled anew."""
    work = Workload("forward", "", length=START_LENGTH)
    return fresh(ways, lambda way: first_result(command(way.peer, folder), way.of(work))[0], "seconds", rounds)


def memory(folder: Path, ways: Sequence[Way], plan: Plan) -> Row:
    """Measure the most memory resident in a fresh process that loads a model and writes a few tokens after a prompt."""
    work = Workload("text", "", length=max(plan.prompts), new_tokens=MEMORY_TOKENS)
    found = fresh(ways, lambda way: first_result(command(way.peer, folder), way.of(work))[1] / 1e6, "MB", 1)
    return shape(work) | found


def fresh(ways: Sequence[Way], measure: Callable[[Way], float], unit: str, rounds: int) -> Row:
    """Measure fresh processes, which take turns; what fails is told."""
    failed: dict[str, str] = {}

    def guarded(way: Way) -> float:
        try:
            return measure(way) if way.title not in failed else math.nan
        except RuntimeError as error:
            failed[way.title] = str(error)[-LONGEST_LOG:]
            return math.nan

    found = take_turns(ways, rounds, guarded)
    good = {way.title: some for way, some in found.items() if way.title not in failed}
    say(f"{unit}: {good}")
    return {unit: {title: seconds(some, 2) for title, some in good.items()}, "failed": failed}


def shape(work: Workload) -> Row:
    """Return what tells one row of a part from another."""
    return {"batch": work.batch, "length": work.length}


# ---------------------------------------------------------------- the whole


def measure(folder: Path, failed: dict[str, str], peers: Sequence[str], rounds: int, plan: Plan) -> Result:
    """Return the figures of one run: by part, rows that each name their load and their rounds."""
    ways = [way for way in ways_of(peers) if way.title not in failed]
    write_prompts(folder, plan)
    head = {"rounds": rounds, "load": load()}
    result: Result = conditions(rounds) | {"instruction sets": instruction_sets(), "parts": {}}
    parts = result["parts"]
    running = Peers(folder, ways, rounds, plan.turn)
    try:
        result["versions"] = running.versions()
        if "prefill" in plan.parts:
            parts["prefill"] = list(prefill(running, plan))
        if "generation" in plan.parts:
            parts["generation"] = list(generation(running, plan))
    finally:
        running.close()
    if "start" in plan.parts:
        parts["start"] = [start(folder, ways, rounds)]
    if "memory" in plan.parts:
        parts["memory"] = [memory(folder, ways, plan)]
    for row in (row for rows in parts.values() for row in rows):
        row |= head | {"failed": row["failed"] | failed}
    return result


def write_prompts(folder: Path, plan: Plan) -> None:
    """Write the prompts of all workloads, for the peer that has no NumPy."""
    vocab_size = json.loads((folder / CHECKPOINT / "config.json").read_text())["vocab_size"]
    shapes = {(work.batch, work.length) for work in [*plan.forwards(), *plan.texts()]}
    shapes |= {(1, START_LENGTH), (1, max(plan.prompts))}
    works = [Workload("forward", "", *one) for one in shapes]
    prompts = {f"{work.batch} x {work.length}": work.token_ids(vocab_size).tolist() for work in works}
    (folder / "prompts.json").write_text(json.dumps(prompts))


def run(plan: Plan, peers: Sequence[str], small: bool, rounds: int, out: Path | None) -> None:
    """Time some peers, print the tables of this processor, and put its figures beside those of others.

    Args:
        plan: what is run.
        peers: some of ``PEERS``.
        small: run the model in the box instead of GPT-2 small.
        rounds: how often each way is timed.
        out: the file of figures, by processor; a row that was measured before is replaced.

    Raises:
        CannotPrepare: what all is compared with cannot be made.
        RuntimeError: it cannot be run.
    """
    folder, failed = ready(peers, small)
    merged = merge(read(out) if out else {}, measure(folder, failed, peers, rounds, plan))
    finish(as_markdown({key(): merged[key()]}), merged, out)
