"""Carry out ``./run grade``: take, grade, and report in the form that was asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.course.steps import Step
from checker.interrupts import exit_on_termination
from checker.session.printer import Printer
from cli.grading import table
from cli.grading.grade import NO, NOT_BEGUN, Grade, Way, grade_all
from cli.grading.submission import NoSubmission, take
from cli.grading.workplace import CourseChanged
from cli.problems import as_lines, not_obeyed


class CannotGrade(Exception):
    """No grade can be given, or can be relied on; the message says why."""


@dataclass(frozen=True)
class Form:
    """The form of a report: the table, one object instead, or lines for an editor or for GitHub below the table."""

    as_json: bool = False
    problems: bool = False
    github: bool = False

    @property
    def options(self) -> list[str]:
        """The options that ask for it."""
        asked = {"--json": self.as_json, "--problems": self.problems, "--github": self.github}
        return [option for option, is_asked in asked.items() if is_asked]


def grade_here(checkout: Path, only: Sequence[Step], way: Way, form: Form) -> int:
    """Grade the steps of a checkout by this course, print a report, and return the exit status.

    Raises:
        CannotGrade: there is nothing to grade, or the course itself was changed meanwhile.
    """
    exit_on_termination()
    printer = Printer(quiet=form.as_json)
    try:
        with not_obeyed(form.github):
            taken = take(checkout)
            table.print_head(printer, checkout, taken)
            grades = grade_all(taken, way, only, lambda grade: table.print_grade(printer, grade))
            table.print_end(printer, grades)
    except (NoSubmission, CourseChanged) as error:
        raise CannotGrade(str(error)) from error
    if form.as_json:
        print(json.dumps(table.as_object(checkout, taken, grades), indent=1))
    for line in as_lines(table.all_problems(grades), editor=form.problems, github=form.github):
        print(line)
    return status_of(grades, all_required=bool(only))


def status_of(grades: Sequence[Grade], *, all_required: bool) -> int:
    """Return the exit status: 0 if nothing is a no and, where steps were named, nothing is left to begin."""
    refused = (NO, NOT_BEGUN) if all_required else (NO,)
    return int(any(grade.verdict in refused for grade in grades))


def grade_by(course: Path, checkout: Path, only: Sequence[Step], way: Way, form: Form) -> int:
    """Have another clone of the course grade a checkout; return its exit status.

    Raises:
        CannotGrade: it is no clone of the course.
    """
    if not (course / "cli" / "__main__.py").is_file():
        raise CannotGrade(f"{course} is not a clone of this course")
    steps = ["--steps", ",".join(step.task for step in only)] if only else []
    limit = ["--limit", str(way.limit)]
    command = [sys.executable, "-m", "cli", "grade", str(checkout), *steps, *limit, *way.options, *form.options]
    return subprocess.run(command, cwd=course, env=os.environ | {"PYTHONPATH": str(course)}, check=False).returncode
