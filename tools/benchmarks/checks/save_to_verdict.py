"""Time ``watch``: how long after a save the verdict on the numbers comes, everything cached.

A figure is the time from writing the learner's file until the line that carries the verdict reaches a terminal. Between
the end of a check and the next save there is a pause, as there is for a learner; during it, the next child gets ready.
The steps take turns, and so do right and wrong answers.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import pexpect  # type: ignore[import-untyped]

from checker.course.skeletons import expected
from checker.course.steps import Step
from tools.benchmarks.checks.loop import ALL, NAMED, NUMBERS, STEP, course_with, spoiled
from tools.benchmarks.harness import (
    Column,
    Result,
    conditions,
    finish,
    load,
    seconds,
    table,
    take_turns,
    task_arguments,
)

LIMIT_SECONDS = 600  # for one check that has to compile everything
WAITS = "q quit"  # the end of the line that says what the keys do
COLUMNS = (Column("from a save to", "what"), Column("median, s", "median", ".2f"), Column("worst, s", "worst", ".2f"))


class WatchedStep:
    """A step that ``watch`` follows in a terminal, in a copy of the course, to time saves of its file.

    Args:
        step: the step.
        folder: where the copy is made.
        pause: seconds between a verdict and the next save.
    """

    def __init__(self, step: Step, folder: Path, pause: float) -> None:
        self.file = course_with(expected(step), folder, step) / "steps" / f"{step.name}.py"
        self.pause = pause
        self.saves = 0
        self.terminal = pexpect.spawn(
            sys.executable,
            [*task_arguments("watch"), step.task],
            cwd=str(folder),
            env=os.environ | {"TERM": "xterm", "NO_COLOR": "1", "PYTHONPATH": str(folder)},
            timeout=LIMIT_SECONDS,
            encoding="utf-8",
            dimensions=(50, 100),
        )
        self.terminal.expect_exact(WAITS)

    def seconds(self, source: str, words: str) -> float:
        """Return the time from saving ``source`` to ``words``."""
        time.sleep(self.pause)
        self.saves += 1
        content = f"{source}\n# save {self.saves}\n"
        start = time.perf_counter()
        self.file.write_text(content)
        self.terminal.expect_exact(words)
        taken = time.perf_counter() - start
        self.terminal.expect_exact(WAITS)
        return taken


def as_markdown(result: Result) -> str:
    """Return the figures as a table."""
    return table(COLUMNS, [{"what": what} | taken for what, taken in result["seconds"].items()])


def run(steps: Sequence[Step], rounds: int, pause: float, out: Path | None) -> None:
    """Time saves of some steps and print a table."""
    result = conditions(rounds)
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        ways = {}  # what is timed: the step, the source that is saved, and the words that end the wait
        for step in steps:
            watched = WatchedStep(step, Path(name) / step.task, pause)
            opened.enter_context(closing(watched.terminal))
            right = step.solution_file.read_text()
            numbers = NUMBERS if "mark.compiled" in step.check_file.read_text() else ALL
            ways[f"the numeric verdict of {step.task}"] = (watched, right, numbers)
            if step == STEP:
                ways[f"the mistake in {step.task} named"] = (watched, spoiled(right), NAMED)

        def measure(way: str) -> float:
            watched, source, words = ways[way]
            return watched.seconds(source, words)

        take_turns(ways, 1, measure)  # fills the caches
        times = take_turns(ways, rounds, measure)
    result["load afterwards"] = load()
    result["seconds"] = {what: {"median": seconds(some), "worst": round(max(some), 3)} for what, some in times.items()}
    finish(as_markdown(result), result, out)
