"""Time the learner's loop: how long each verdict takes in a terminal.

A figure is the time from starting the check to the line that carries the verdict; the import of MAX is timed beside it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from checker.course.steps import find_step
from checker.diagnosis.mistakes import apply_edits
from checker.errors import UserError
from checker.files import ROOT
from tools.benchmarks import harness
from tools.benchmarks.harness import Column, Result, median, table, take_turns, task_arguments
from tools.course_copy import Course

STEP = find_step("s07")
CHECK = task_arguments(STEP.task)
RIGHT = STEP.read_solution().text
WRONG = apply_edits(RIGHT, {"scores + mask": "scores"})
NUMBERS = "Pass: the outputs"  # the line of the numeric verdict
ALL = "Pass ("  # the last line of a pass
NAMED = "There is no causal mask"  # the mistake of the wrong answer
COLD = "nothing cached"  # in the name of a figure for which MAX compiled everything anew
COLUMNS = (Column("until", "what"), Column("seconds", "seconds", ".2f"))
Timer = Callable[[], float]


def course_with(source: str, folder: Path) -> Path:
    """Make a copy of the course in which the learner's file of step 07 is ``source``."""
    Course(folder).write(STEP.task, source)
    return folder


def seconds_until(words: str, arguments: list[str], course: Path, **environment: str) -> float:
    """Return the time from starting Python with ``arguments`` to the line that has ``words``, or to its end.

    Raises:
        UserError: it ended without saying the words.
    """
    start, line = time.perf_counter(), [sys.executable, *arguments]
    learners = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
    with subprocess.Popen(line, cwd=course, env=learners, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if words and not any(words in line for line in process.stdout):
            raise UserError(f"nothing said {words!r}")
        taken = time.perf_counter() - start
        process.stdout.read()  # the rest, so that it ends by itself
    return taken if words else time.perf_counter() - start


def checks(folder: Path) -> dict[str, Timer]:
    """Return what is timed of step 07's check."""
    solved, wrong = course_with(RIGHT, folder / "solved"), course_with(WRONG, folder / "wrong")
    untouched = course_with(STEP.learner_file.read_text(), folder / "untouched")
    return {
        "MAX is imported": partial(seconds_until, "", ["-c", "from max.experimental.nn import Linear"], solved),
        "the static verdict": partial(seconds_until, "", CHECK, untouched),
        "the numeric verdict on a right answer": partial(seconds_until, NUMBERS, CHECK, solved),
        "the mistake in a wrong answer is named": partial(seconds_until, NAMED, CHECK, wrong),
        "the compiled verdict on a right answer": partial(seconds_until, ALL, CHECK, solved),
    }


def as_markdown(result: Result) -> str:
    """Return the figures as a table, the shortest time first."""
    figures = sorted(result["seconds"].items(), key=lambda figure: figure[1])
    return table(COLUMNS, [{"what": what, "seconds": taken} for what, taken in figures])


def run(cold: bool, rounds: int, out: Path | None) -> None:
    """Time every verdict and print a table.

    Args:
        cold: also time the first check on a machine that has never run MAX, and all that ``./run warm`` compiles there.
        rounds: how often each is timed.
        out: where to write the figures as JSON.
    """
    result = harness.conditions(rounds)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        timers = checks(folder)
        take_turns(timers, 1, lambda what: timers[what]())  # fills the caches
        times = take_turns(timers, rounds, lambda what: timers[what]())
        if cold:
            first, cache = course_with(RIGHT, folder / "first"), folder / "everything"
            taken = seconds_until(NUMBERS, CHECK, first, XDG_CACHE_HOME=str(folder / "cold"))
            times[f"the very first numeric verdict, {COLD}"] = [taken]
            taken = seconds_until("", task_arguments("warm"), ROOT, XDG_CACHE_HOME=str(cache))
            times[f"all steps compiled by `./run warm`, {COLD}"] = [taken]
            size = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
            result["megabytes kept"] = round(size / 1e6)
    result["seconds"] = {what: median(some) for what, some in times.items()}
    harness.finish(as_markdown(result), result, out)
