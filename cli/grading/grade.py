"""Grade the steps of a checkout one after another, each by the check that ``./run s07 --json`` runs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from checker.course.skeletons import is_begun
from checker.course.steps import Step, all_steps
from checker.session.views import Record
from cli.grading.submission import Submission
from cli.grading.workplace import CourseChanged, Workplace
from cli.problems import problems_of

YES, NO, NOT_BEGUN = "yes", "no", "not begun"
END_SECONDS = 5  # for a check that is interrupted


@dataclass(frozen=True)
class Grade:
    """The grade of one step: ``yes``, ``no`` or ``not begun``, why, and the verdict of its check if one was run."""

    step: Step
    verdict: str
    why: str = ""
    seconds: float = 0.0
    check: Record | None = None


@dataclass(frozen=True)
class Way:
    """How steps are graded: the options of a check, and the seconds after which it is ended."""

    compile_: bool = True
    seed: int | None = None
    limit: float = 1800.0

    @property
    def options(self) -> list[str]:
        """The options of a check."""
        compile_ = [] if self.compile_ else ["--no-compile"]
        return compile_ if self.seed is None else [*compile_, "--seed", str(self.seed)]


def grade_all(
    taken: Submission, way: Way, only: Collection[Step] = (), tell: Callable[[Grade], None] = lambda grade: None
) -> list[Grade]:
    """Return the grades of all steps, or of those in ``only``; ``tell`` each as it comes.

    Raises:
        CourseChanged: a step has changed the course that grades it.
    """
    grades = []
    with Workplace(taken.texts) as workplace:
        for step in (step for step in all_steps() if not only or step in only):
            try:
                grades.append(one := _grade(step, taken, workplace, way))
            except CourseChanged as error:
                raise CourseChanged(
                    f"{error} the check of {step.name} ran. Nothing after it was graded; begin with a new clone."
                ) from error
            tell(one)
    return grades


def _grade(step: Step, taken: Submission, workplace: Workplace, way: Way) -> Grade:
    if step in taken.missing:
        return Grade(step, NOT_BEGUN, "The file is missing.")
    if step in taken.refused:
        return Grade(step, NO, taken.refused[step])
    if not is_begun(step, workplace.path(step)):
        return Grade(step, NOT_BEGUN)
    started = time.monotonic()
    verdict, failure = check(step, workplace.place, way)
    seconds = round(time.monotonic() - started, 1)
    if changed := workplace.changes():
        others = f" and {len(changed) - 1} other files" if changed[1:] else ""
        why = f"No verdict: while it was checked, {changed[0]}{others} changed. A step may write no file of the course."
        return Grade(step, NO, why, seconds)
    if verdict is None:
        return Grade(step, NO, f"No verdict: {failure}", seconds)
    return Grade(step, verdict["verdict"], why_not(verdict), seconds, verdict)


def why_not(verdict: Record) -> str:
    """Return the first reason for a no in a sentence; nothing for a yes."""
    if verdict["verdict"] == YES:
        return ""
    if problems := problems_of(verdict):
        return problems[0].words
    to_write = [row["about"] for row in verdict["rows"] if row["verdict"] == "to write"]
    return f"Still to write: {', '.join(to_write)}." if to_write else " ".join(verdict["said"])


def check(step: Step, place: Path, way: Way) -> tuple[Record | None, str]:
    """Run the check of a step in a copy of the course; return its verdict, or why there is none."""
    process = subprocess.Popen(
        [sys.executable, "-m", "cli", step.task, "--json", *way.options],
        cwd=place,
        env=os.environ | {"PYTHONPATH": str(place)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process, _ended(process):
        try:
            said, errors = process.communicate(timeout=way.limit)
        except subprocess.TimeoutExpired:
            return None, f"the check took longer than {way.limit:g} seconds."
    try:
        verdict = json.loads(said)
        if verdict["verdict"] in (YES, NO):
            return verdict, ""
    except (ValueError, TypeError, KeyError):
        pass
    last = f" ({errors.splitlines()[-1]})" if errors.strip() else ""
    return None, f"the check ended without one, with exit status {process.returncode}{last}."


@contextlib.contextmanager
def _ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """Interrupt a check that is still running at the end, and kill it if that does not end it."""
    try:
        yield
    finally:
        for number, seconds in ((signal.SIGINT, END_SECONDS), (signal.SIGKILL, None)):
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(seconds)
