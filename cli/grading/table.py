"""Show grades: a line for each step as it comes, and at last one object, which ``grades.schema.json`` describes."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from checker.course.paths import ROOT, relative_path
from checker.course.standing import title
from checker.session.printer import STYLES, Printer
from checker.session.views import Record
from cli.doctor import commit
from cli.grading.grade import NO, NOT_BEGUN, YES, Grade
from cli.grading.submission import Submission
from cli.problems import Problem, problems_of

VERSION = 1  # of the object; another one where a program that reads it would have to be changed
LEFT_OUT = 5  # names that are printed of what lies beside the steps
WIDTH = len(NOT_BEGUN)


def print_head(printer: Printer, checkout: Path, taken: Submission) -> None:
    """Print what is graded, by what, and what was left out."""
    if checkout == ROOT:
        printer.line("The steps of this clone.")
    else:
        printer.styled(f"The steps of {checkout}, graded by the course in {ROOT} ({commit()}).")
    if taken.left_out:
        more = f" and {len(taken.left_out) - LEFT_OUT} more" if taken.left_out[LEFT_OUT:] else ""
        printer.line(f"Not taken, since no step has that name: {', '.join(taken.left_out[:LEFT_OUT])}{more}.")
    printer.line()


def print_grade(printer: Printer, grade: Grade) -> None:
    """Print the line of a step, and below it why it is a no."""
    seconds = f" ({grade.seconds:.1f} s)" if grade.check else ""
    style = STYLES.get(grade.verdict, "dim")
    printer.styled(f"  {grade.step.task}  ", (f"{grade.verdict:<{WIDTH}}", style), f"  {title(grade.step)}{seconds}")
    for line in textwrap.wrap(grade.why, printer.console.width - 7):
        printer.styled(f"       {line}")


def print_end(printer: Printer, grades: Sequence[Grade]) -> None:
    """Print how many there are of each."""
    counts = counted(grades)
    printer.line(f"\n{counts[YES]} of {len(grades)} yes, {counts[NO]} no, {counts[NOT_BEGUN]} not begun.")


def counted(grades: Sequence[Grade]) -> dict[str, int]:
    """Return how many grades there are of each kind."""
    counts = Counter(grade.verdict for grade in grades)
    return {verdict: counts[verdict] for verdict in (YES, NO, NOT_BEGUN)}


def as_object(checkout: Path, taken: Submission, grades: Sequence[Grade]) -> Record:
    """Return all grades as one object."""
    return {
        "version": VERSION,
        "checkout": str(checkout),
        "course": {"folder": str(ROOT), "commit": commit()},
        "counts": counted(grades),
        "steps": [
            {
                "step": grade.step.name,
                "task": grade.step.task,
                "file": relative_path(grade.step.learner_file),
                "verdict": grade.verdict,
                "why": grade.why,
                "seconds": grade.seconds,
                "check": grade.check,
            }
            for grade in grades
        ],
        "left_out": taken.left_out,
    }


def all_problems(grades: Sequence[Grade]) -> list[Problem]:
    """Return the problems of all steps; one without a verdict has its reason."""
    return [
        problem
        for grade in grades
        if grade.verdict == NO
        for problem in (
            problems_of(grade.check)
            if grade.check
            else [Problem(relative_path(grade.step.learner_file), 1, "", grade.why)]
        )
    ]
