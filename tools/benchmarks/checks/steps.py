"""Time the check of every step with its solution: the whole process, everything cached, without compiling."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from checker.course.paths import ROOT
from checker.course.steps import Step
from tools.benchmarks.checks.loop import seconds_until
from tools.benchmarks.harness import Column, Result, conditions, finish, seconds, table, take_turns, task_arguments

COLUMNS = (Column("check", "task"), Column("seconds", "seconds", ".2f"))


def as_markdown(result: Result) -> str:
    """Return the figures as a table."""
    return table(COLUMNS, [{"task": task, "seconds": taken} for task, taken in result["seconds"].items()])


def check(task: str) -> float:
    """Return the seconds that the check of a step takes."""
    return seconds_until("Compare with", [*task_arguments(task), "--solution", "--no-compile"], ROOT)


def run(steps: Iterable[Step], rounds: int, out: Path | None) -> None:
    """Time steps and print a table."""
    result = conditions(rounds)
    tasks = [step.task for step in steps]
    take_turns(tasks, 1, check)  # fills the caches
    result["seconds"] = {task: seconds(times) for task, times in take_turns(tasks, rounds, check).items()}
    finish(as_markdown(result), result, out)
