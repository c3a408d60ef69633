"""What every benchmark shares: the machine in words, rounds in which ways take turns, ratios, tables, files of figures.

If a machine slows down in the middle of a run, everything that is compared must slow down with it. So the ways take
turns, in an order that reverses from round to round; a figure is the median over the rounds, a ratio the median of the
rounds' own. Before each turn is a pause: threads of MAX and of OpenMP look for more work for up to half a second after
their last, and the next process would get half the cores.
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

from cli.tasks import tasks
from play.processor import instruction_sets, processor_name

Result = dict[str, Any]
Row = dict[str, Any]
Way = TypeVar("Way", bound=Hashable)
PAUSE = 0.6  # seconds before each turn

# ---------------------------------------------------------------- the machine


def conditions(rounds: int) -> Result:
    """Return the head of every result: the date, the machine, its load before anything is timed, and the rounds.

    ``load`` is how many processes wanted a core in the last minute, ``busy`` how many cores other work takes now. From
    now on, processes keep the bytecode of what they have compiled, as they do for a learner.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    return {
        "date": str(datetime.date.today()),
        "machine": machine(),
        "instruction sets": instruction_sets(),
        "load": round(os.getloadavg()[0], 2),
        "busy": round(psutil.cpu_percent(interval=1) / 100 * (psutil.cpu_count() or 1), 2),
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
    return shlex.split(tasks()[name]["cmd"])[1:]


# ---------------------------------------------------------------- times


def take_turns(ways: Iterable[Way], rounds: int, measure: Callable[[Way], float]) -> dict[Way, list[float]]:
    """Measure every way once per round; every second round runs backward. Return one figure per round for each."""
    figures: dict[Way, list[float]] = {way: [] for way in ways}
    for turn in range(rounds):
        for way in reversed(figures) if turn % 2 else figures:
            time.sleep(PAUSE)
            figures[way].append(measure(way))
    return figures


def median(figures: Iterable[float], digits: int = 3) -> float:
    """Return the median of some figures, rounded."""
    return round(statistics.median(figures), digits)


def ratio(times: Sequence[float], others: Sequence[float]) -> float:
    """Return the median over the rounds of how many times longer one took than the other."""
    return median((a / b for a, b in zip(times, others, strict=True)), 2)


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


def by_processor(results: Result, tables: Callable[..., Iterable[str]], *part: str) -> str:
    """Return the tables of all processors, of one part if there are several, each after the processor and the day."""
    shown = ((name, result["date"], made) for name, result in results.items() for made in tables(result, *part))
    return "\n\n".join(f"**{name}**, {date}\n\n{made}" for name, date, made in shown)


def notes(results: Result) -> str:
    """Return how the figures of some processors were measured otherwise than the program does now, as a list."""
    return "\n".join(f"- {name}: {result['note']}." for name, result in results.items() if "note" in result) or "- None"


def not_timed(results: Result) -> str:
    """Return what was not timed on some processors, each with a reason or the end of a log, as Markdown."""
    reasons = {f"{what} on {name}": why for name, result in results.items() for what, why in result["failed"].items()}
    logs = (f"{what}:\n\n```text\n{why.strip()}\n```" for what, why in reasons.items())
    return "\n\n".join(logs) or "All of it was timed."


# ---------------------------------------------------------------- files of figures


def finish(printed: str, result: Result | list[Row], out: Path | None) -> None:
    """Print the tables of a result, and write its figures as JSON if a path is given."""
    print(printed)
    if out:
        out.write_text(json.dumps(result, indent=2) + "\n")


def finish_on_this_processor(tables: Callable[[Result], str], result: Result, out: Path | None) -> None:
    """Print the tables of a result, and put its figures beside those of other processors, if a path is given."""
    before, new = json.loads(out.read_text()) if out and out.is_file() else {}, {result["machine"]: result}
    for outdated in ("note", "failed"):
        before.get(result["machine"], {}).pop(outdated, None)
    finish(tables(new), merged(before, new), out)


def merged(before: Any, new: Any) -> Any:
    """Return figures with newer ones in their place; what was not measured again stays."""
    if not isinstance(before, dict) or not isinstance(new, dict):
        return new
    return before | {name: merged(before.get(name), value) for name, value in new.items()}
