"""What every benchmark shares: the machine in words, rounds in which ways take turns, medians, ratios and tables.

If a machine slows down in the middle of a run, everything that is compared must slow down with it. So the ways take
turns, in an order that reverses from round to round; a figure is the median over the rounds, a ratio the median of the
rounds' own. No turn begins before the processes of the others sleep: threads of MAX and of OpenMP look for more work
for up to half a second after their last, and the next process would get half the cores.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil

from checker.processor import instruction_sets, processor_name
from cli.tasks import tasks

Result = dict[str, Any]
Row = dict[str, Any]
Way = TypeVar("Way", bound=Hashable)


def conditions(rounds: int) -> Result:
    """Return the head of every result: the machine, its load before anything is timed, and how many rounds.

    From now on, processes keep the bytecode of what they have compiled, as they do for a learner.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    return {"machine": machine(), "load": load(), "rounds": rounds}


def machine() -> str:
    """Return the processor, its architecture and cores, and Python's version in words."""
    return f"{processor_name()}, {platform.machine()}, {cores()} cores, Python {platform.python_version()}"


def cores() -> int:
    """Return the number of physical cores."""
    return psutil.cpu_count(logical=False) or 1


def key() -> str:
    """Return what figures are kept under: the processor, its widest instructions, and its cores."""
    return ", ".join([processor_name(), *instruction_sets()[:1], f"{cores()} cores"])


def load() -> float:
    """Return how many processes wanted a core in the last minute, on average."""
    return round(os.getloadavg()[0], 2)


def say(line: str) -> None:
    """Print progress, apart from the result."""
    print(line, file=sys.stderr, flush=True)


def task_arguments(name: str) -> list[str]:
    """Return what follows ``python`` in the line of a task of ``pixi.toml``."""
    return shlex.split(tasks()[name]["cmd"])[1:]


# ---------------------------------------------------------------- times

WINDOW = 0.1  # seconds in which processes are watched
IDLE = 0.2  # cores that processes may take in it
LONGEST_WAIT = 5.0  # seconds


def rest(used: Callable[[], float] | None = None, longest: float = LONGEST_WAIT) -> None:
    """Wait until no process that this one has started computes any more.

    Args:
        used: returns the processor time of all of them so far, in seconds; without it, the system is asked.
        longest: seconds after which waiting ends even so.
    """
    used = used or _used_by_children
    start = time.monotonic()
    while time.monotonic() - start < longest:
        before = used()
        time.sleep(WINDOW)
        if used() - before < IDLE * WINDOW:
            return


def _used_by_children() -> float:
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has ended meanwhile
            times = process.cpu_times()
            total += times.user + times.system
    return total


def seconds_per_call(call: Callable[[], object], calls: int) -> float:
    """Return the mean time of one of several calls in a row."""
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def take_turns(
    ways: Iterable[Way], rounds: int, measure: Callable[[Way], float], before: Callable[[], None] = lambda: None
) -> dict[Way, list[float]]:
    """Measure every way once per round; every second round runs backward. Return one figure per round for each.

    ``before`` is called before each round. Before each turn, all that is left of the one before comes to rest.
    """
    times: dict[Way, list[float]] = {way: [] for way in ways}
    for turn in range(rounds):
        before()
        for way in reversed(times) if turn % 2 else times:
            rest()
            times[way].append(measure(way))
    return times


def seconds(times: Sequence[float], digits: int = 3) -> float:
    """Return the median of some times."""
    return round(statistics.median(times), digits)


def milliseconds(times: Sequence[float], digits: int = 3) -> float:
    """Return the median of some times in seconds, as milliseconds."""
    return round(1000 * statistics.median(times), digits)


def ratio(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the median over the rounds of how many times longer one took than the other."""
    return round(statistics.median(a / b for a, b in zip(one, other, strict=True)), 2)


# ---------------------------------------------------------------- tables


@dataclass(frozen=True)
class Column:
    """A column of a table: its title, which figure of a row it shows, and how."""

    title: str
    key: str
    spec: str = ""  # as for format(); with "%", a share is shown as percent
    rule: str = "---"  # below the title; "--:" aligns to the right

    def cell(self, row: Mapping[str, Any]) -> str:
        """Return the figure as it is printed, or nothing if the row has none."""
        return format(row[self.key], self.spec).replace("%", " %") if self.key in row else ""


def table(columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows of figures as a Markdown table."""
    lines = [[column.title for column in columns], *([column.cell(row) for column in columns] for row in rows)]
    head, *body = ["| " + " | ".join(cells) + " |" for cells in lines]
    return "\n".join([head, "|" + "|".join(column.rule for column in columns) + "|", *body])


def finish(printed: str, result: Result, out: Path | None) -> None:
    """Print the tables of a result, and write its figures as JSON if a path is given."""
    print(printed)
    if out:
        out.write_text(json.dumps(result, indent=2) + "\n")


def read(path: Path) -> Result:
    """Return the figures of all processors in a file; nothing if there is none."""
    return json.loads(path.read_text()) if path.is_file() else {}


def notes(results: Result) -> str:
    """Return how the figures of some processors were measured otherwise than the program does now, as a list."""
    found = [f"- {name}: {result['note']}." for name, result in results.items() if "note" in result]
    return "\n".join(found) or "- None"


def merged(before: Result, result: Result, join: Callable[[Any, Any], Any]) -> Result:
    """Return the figures of all processors, with those of one more run on this one.

    Figures of another machine of this name, or with another version of a library, are dropped. A note stays as long as
    any figure from before the run does.

    Args:
        before: those of all processors so far.
        result: those of the run: ``machine``, ``instruction sets``, ``versions`` and ``parts``.
        join: makes one of the parts of this processor so far and those of the run.
    """
    mine, same = before.get(key(), {}), ("machine", "instruction sets")
    versions = mine.get("versions", {})
    others = [name for name, version in result["versions"].items() if versions.get(name, version) != version]
    if others or any(mine.get(name) != result[name] for name in same):
        if mine:
            say("other versions, or another machine of this name: its earlier figures are dropped")
        mine, versions = {}, {}
    head = {name: result[name] for name in same} | {"versions": versions | result["versions"]}
    parts = join(mine.get("parts", {}), result["parts"])
    if "note" in mine and parts != join({}, result["parts"]):  # some of its figures are still those that it is about
        head["note"] = mine["note"]
    return before | {key(): head | {"parts": parts}}
