"""Grade the steps of a checkout one after another, each by the check that ``./run s07 --json`` runs.

Of the checkout, only the steps are taken. Each is checked in a fresh copy of the course, so that a step which writes
files does not change the grade of the next. A check is no sandbox (``SECURITY.md``).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from checker.course.hunts import HuntedStep
from checker.course.reading import NoSuchFile, Unreadable, read_text
from checker.course.skeletons import is_begun
from checker.course.steps import STEPS, Step, all_steps, relative_path
from checker.errors import UserError, exit_on_termination
from checker.files import ROOT
from checker.parent.limits import COMPILE_VARIABLE
from checker.parent.records import Record, kind_of_verdict
from checker.parent.state import VerdictKind
from checker.stages import Mark
from checker.terminal import STYLES, Terminal
from cli.shared.checkout import commit
from cli.shared.problems import Problem, as_lines, problems_of, without_workflow_commands
from cli.shared.programs import last_line, run_module

VERSION = 3  # of the object, which grades.schema.json describes
COMPILE_SHARE = 0.5  # of a check's limit, for compiling one thing: the check can then still say what it waits for
PARTS = ("cli", "checker", "solutions", "tests", "models", "pixi.toml", "pyproject.toml")  # what a check needs


class Result(StrEnum):
    """What a step gets."""

    PASS = "pass"
    FAIL = "fail"
    NOT_BEGUN = "not begun"


STYLE_OF_RESULT = {Result.PASS: STYLES[Mark.PASS], Result.FAIL: STYLES[Mark.FAIL], Result.NOT_BEGUN: "dim"}
WIDTH_OF_RESULT = max(len(result) for result in Result)


@dataclass(frozen=True)
class Grade:
    """The grade of one step: the result, the reason for it, and the record of the step's check if one was run."""

    step: Step
    result: Result
    reason: str = ""
    seconds: float = 0.0
    record: Record | None = None

    @property
    def problems(self) -> list[Problem]:
        """The problems that the check found; if a step fails without a verdict, the reason is the only one."""
        if self.record:
            return problems_of(self.record)
        if self.result is not Result.FAIL:
            return []
        return [Problem(relative_path(self.step.learner_file), 1, "", self.reason)]


def grade_checkout(
    checkout: Path, steps: Sequence[Step], options: Sequence[str], limit: float, form: str | None
) -> int:
    """Grade the steps of a checkout by this course, and print a report.

    Args:
        checkout: the folder of the clone.
        steps: those that are graded, and must pass; without any, all are graded, and none may fail.
        options: those of each check.
        limit: the seconds of a check.
        form: what is printed: the table, ``json`` instead, or also lines for its ``problems`` or for ``github``.

    Returns:
        The exit status: 0 if nothing fails and, where steps were named, each of them passes.

    Raises:
        UserError: there is nothing to grade.
    """
    exit_on_termination()
    texts, helpers, grades = read_steps(checkout), read_helpers(checkout), list[Grade]()
    terminal = Terminal(quiet=form == "json")
    with without_workflow_commands() if form == "github" else contextlib.nullcontext():
        by = "" if checkout == ROOT else f", graded by the course in {ROOT} ({commit()})"
        terminal.styled(f"The steps of {'this clone' if checkout == ROOT else checkout}{by}.")
        terminal.line()
        for step in steps or all_steps():
            grades.append(grade_step(step, texts, helpers, options, limit))
            print_grade(terminal, grades[-1])
        counts = counts_of_results(grades)
        passes, failures, not_begun = counts[Result.PASS], counts[Result.FAIL], counts[Result.NOT_BEGUN]
        terminal.line(f"\n{passes} of {len(grades)} pass, {failures} fail, {not_begun} not begun.")
    if form == "json":
        print(json.dumps(as_object(checkout, grades), indent=1))
    for line in as_lines((problem for grade in grades for problem in grade.problems), form):
        print(line)
    failing = {Result.FAIL, Result.NOT_BEGUN} if steps else {Result.FAIL}
    return int(any(grade.result in failing for grade in grades))


def read_steps(checkout: Path) -> dict[Step, str | Unreadable]:
    """Read the steps of a checkout, before anything runs; return the text of each that is there, or what is wrong.

    Raises:
        UserError: it has no folder of steps.
    """
    folder = checkout / STEPS.name
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder; name a checkout, which has the folder {STEPS.name}/")
    texts: dict[Step, str | Unreadable] = {}
    for step in all_steps():
        try:
            texts[step] = read_text(folder / step.learner_file.name)
        except NoSuchFile:
            continue
        except Unreadable as error:
            texts[step] = error
    return texts


def read_helpers(checkout: Path) -> dict[str, str]:
    """Return the texts of the other modules of Python in the steps of a checkout, which these may import, by path.

    A kernel in Mojo is compiled alone, and imports none.
    """
    folder, texts = checkout / STEPS.name, dict[str, str]()
    copies_to_hunt_in = [HuntedStep(step.name) for step in all_steps()]
    no_helpers = {step.learner_file.name for step in (*all_steps(), *copies_to_hunt_in)}
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder)
        is_module = all(part.isidentifier() for part in name.with_suffix("").parts)
        with contextlib.suppress(Unreadable):
            if is_module and str(name) not in no_helpers:
                texts[str(name)] = read_text(path)
    return texts


def copy_course(folder: Path, parts: Iterable[str] = PARTS) -> None:
    """Copy parts of the course, with their bytecode, so that no copy compiles them again."""
    being_written = "*.pyc.*"  # by another process
    left_out = shutil.ignore_patterns("dev", "*.kept-*", "hunt_[w0-9]*", being_written)
    for part in parts:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=left_out)
        else:
            shutil.copy2(ROOT / part, folder / part)


def grade_step(
    step: Step,
    texts: Mapping[Step, str | Unreadable],
    helpers: Mapping[str, str],
    options: Sequence[str],
    limit: float,
) -> Grade:
    """Return the grade of a step; its check runs in a copy of the course, beside the other steps and the helpers."""
    text = texts.get(step)
    if text is None:
        return Grade(step, Result.NOT_BEGUN, "The file is missing.")
    if isinstance(text, Unreadable):
        return Grade(step, Result.FAIL, text.sentence_with("`./run skeletons` in its clone"))
    with tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as name:
        file = Path(name, STEPS.name, step.learner_file.name)
        file.parent.mkdir()
        steps = {step.learner_file.name: source for step, source in texts.items() if isinstance(source, str)}
        for beside, source in {**helpers, **steps}.items():
            module = file.parent / beside
            module.parent.mkdir(parents=True, exist_ok=True)
            module.write_text(source, encoding="utf-8", newline="")
        if not is_begun(step, file):
            return Grade(step, Result.NOT_BEGUN)
        copy_course(Path(name))
        return run_check(step, Path(name), options, limit)


def run_check(step: Step, folder: Path, options: Sequence[str], limit: float) -> Grade:
    """Return the grade that the check of a step gives in a copy of the course."""
    started = time.monotonic()
    variables = os.environ | {"PYTHONPATH": str(folder), COMPILE_VARIABLE: str(limit * COMPILE_SHARE)}
    run = run_module("cli", step.task, "--json", *options, seconds=limit, folder=folder, environment=variables)
    seconds = round(time.monotonic() - started, 1)
    if run is None:
        return Grade(step, Result.FAIL, f"No verdict: the check took longer than {limit:g} seconds.", seconds)
    try:
        record = json.loads(run.stdout)
    except ValueError:
        failure = f"the check ended without one, with exit status {run.returncode} ({last_line(run)})."
        return Grade(step, Result.FAIL, f"No verdict: {failure}", seconds)
    if kind_of_verdict(record) is VerdictKind.PASS:
        return Grade(step, Result.PASS, seconds=seconds, record=record)
    return Grade(step, Result.FAIL, why_no_pass(record), seconds, record)


def why_no_pass(record: Record) -> str:
    """Return the first reason for a failure, and whether there are more."""
    if problems := problems_of(record):
        more = f" (The first of {len(problems)} reasons; `./run {record['task']}` shows all.)"
        return problems[0].words + (more if len(problems) > 1 else "")
    to_write = [row["about"] for row in record["rows"] if Mark(row["mark"]) is Mark.TODO]
    return f"Still to write: {', '.join(to_write)}." if to_write else " ".join(record["said"])


def print_grade(terminal: Terminal, grade: Grade) -> None:
    """Print the line of a step, and below it why it fails."""
    seconds = f" ({grade.seconds:.1f} s)" if grade.record else ""
    word = f"{grade.result:<{WIDTH_OF_RESULT}}", STYLE_OF_RESULT[grade.result]
    terminal.styled(f"  {grade.step.task}  ", word, f"  {grade.step.read_title()}{seconds}")
    terminal.below(grade.reason, 7)


def counts_of_results(grades: Sequence[Grade]) -> dict[Result, int]:
    """Return how many steps have each result."""
    counts = Counter(grade.result for grade in grades)
    return {result: counts[result] for result in Result}


def as_object(checkout: Path, grades: Sequence[Grade]) -> Record:
    """Return all grades as one object, which ``grades.schema.json`` describes."""
    return {
        "version": VERSION,
        "checkout": str(checkout),
        "course": {"folder": str(ROOT), "commit": commit()},
        "counts": counts_of_results(grades),
        "steps": [
            {
                "step": grade.step.name,
                "task": grade.step.task,
                "file": relative_path(grade.step.learner_file),
                "verdict": grade.result,
                "why": grade.reason,
                "seconds": grade.seconds,
                "check": grade.record,
            }
            for grade in grades
        ],
    }
