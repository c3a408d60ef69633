"""What every benchmark shares: the machine in words, rounds in which ways take turns, tables, files of figures.

If a machine slows down in the middle of a run, everything that is compared must slow down with it. So the ways take
turns, in an order that reverses from round to round; a figure is the median over the rounds. Before each turn is a
pause: threads of MAX and of OpenMP look for more work for up to half a second after their last, and the next process
would get half the cores.
"""

from __future__ import annotations

import datetime
import json
import os
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil

from cli.start.tasks import read_tasks
from play.processor import instruction_sets, processor_name

Result = dict[str, Any]
Row = dict[str, Any]
Timed = TypeVar("Timed", bound=Hashable)
Figure = TypeVar("Figure")
PAUSE = 0.6  # seconds before each turn

# ---------------------------------------------------------------- the machine


def conditions(rounds: int) -> Result:
    """Return the head of every result: the date, the machine, its load before anything is timed, and the rounds.

    ``load`` is how many processes wanted a core in the last minute. From now on, processes keep the bytecode of what
    they have compiled, as they do for a learner.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    return {
        "date": str(datetime.date.today()),
        "machine": machine(),
        "instruction sets": instruction_sets(),
        "load": round(os.getloadavg()[0], 2),
        "rounds": rounds,
    }


def machine() -> str:
    """Return what figures are kept under: the processor, its widest instructions, and its cores."""
    return ", ".join([processor_name(), *instruction_sets()[:1], f"{cores()} cores"])


def cores() -> int:
    """Return the number of physical cores."""
    return psutil.cpu_count(logical=False) or 1


def say(line: str) -> None:
    """Print progress, apart from the result."""
    print(line, file=sys.stderr, flush=True)


def task_arguments(name: str) -> list[str]:
    """Return what follows ``python`` in the line of a task of ``pixi.toml``."""
    return shlex.split(read_tasks()[name]["cmd"])[1:]


# ---------------------------------------------------------------- times


def take_turns(ways: Iterable[Timed], rounds: int, measure: Callable[[Timed], Figure]) -> dict[Timed, list[Figure]]:
    """Measure every way once per round; every second round runs backward. Return one figure per round for each."""
    figures: dict[Timed, list[Figure]] = {way: [] for way in ways}
    for turn in range(rounds):
        for way in reversed(figures) if turn % 2 else figures:
            time.sleep(PAUSE)
            figures[way].append(measure(way))
    return figures


def median(figures: Iterable[float], digits: int = 3) -> float:
    """Return the median of some figures, rounded."""
    return round(statistics.median(figures), digits)


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
    """Return rows of figures as a Markdown table; a column without a figure in any row is left out."""
    rows = list(rows)
    shown = [column for column in columns if not rows or any(column.key in row for row in rows)]
    lines = [[column.title for column in shown], *([column.cell(row) for column in shown] for row in rows)]
    head, *body = ["| " + " | ".join(cells) + " |" for cells in lines]
    return "\n".join([head, "|" + "|".join(column.rule for column in shown) + "|", *body])


# ---------------------------------------------------------------- files of figures


def finish(printed: str, result: Result, out: Path | None) -> None:
    """Print the tables of a result, and write its figures as JSON if a path is given."""
    print(printed)
    if out:
        out.write_text(json.dumps(result, indent=2) + "\n")
