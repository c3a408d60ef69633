"""Time the check of every step with its solution: the whole process, everything cached, without MAX's compiler.

A step in Mojo is also timed with a text that is new each time, which Mojo's compiler makes into a library.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from checker.course.languages import MOJO
from checker.course.paths import ROOT
from checker.course.steps import Step, find_step
from tools.benchmarks.checks.loop import course_with, seconds_until
from tools.benchmarks.harness import Column, Result, conditions, finish, seconds, table, take_turns, task_arguments

COLUMNS = (Column("check", "task"), Column("seconds", "seconds", ".2f"))
NEW_TEXT = "{}, a new text"


def as_markdown(result: Result) -> str:
    """Return the figures as a table."""
    return table(COLUMNS, [{"task": task, "seconds": taken} for task, taken in result["seconds"].items()])


def check(what: str) -> float:
    """Return the seconds that the check of a step takes, ``s07``, or that of a new text of it, ``s21, a new text``."""
    task, _, new = what.partition(",")
    arguments = [*task_arguments(task), "--no-compile"]
    if not new:
        return seconds_until("Compare with", [*arguments, "--solution"], ROOT)
    with TemporaryDirectory() as folder:
        solution = find_step(task).solution_file.read_text()
        course = course_with(f"{solution}# {time.time_ns()}\n", Path(folder) / "course", find_step(task))
        return seconds_until("Compare with", arguments, course)


def run(steps: Iterable[Step], rounds: int, out: Path | None) -> None:
    """Time steps and print a table."""
    result = conditions(rounds)
    steps = list(steps)
    checks = [step.task for step in steps] + [NEW_TEXT.format(step.task) for step in steps if step.language is MOJO]
    take_turns(checks, 1, check)  # fills the caches
    result["seconds"] = {what: seconds(times) for what, times in take_turns(checks, rounds, check).items()}
    finish(as_markdown(result), result, out)
