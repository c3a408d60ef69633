"""How far a step is.

A step is untouched, in progress, done, or done but changed since. It is read from the files; that a check
said yes, which no file shows, comes from ``progress``, and only for exactly the file it said it to.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from checker.course import progress
from checker.course.blanks import find_blanks, skeleton, unwritten
from checker.course.static import Missing, Unreadable, parse, read_text
from checker.course.steps import Step


@dataclass(frozen=True)
class Standing:
    """Where one step stands: ``state`` is ``untouched``, ``missing``, ``in progress``, ``done`` or ``changed``."""

    step: Step
    state: str
    words: str


def standing(step: Step) -> Standing:
    """Return where a step stands now."""
    solution = step.solution_file.read_text()
    try:
        text = read_text(step.learner_file)
    except Missing:
        return Standing(step, "missing", "missing: `./run skeletons` writes it anew")
    except Unreadable as error:
        return Standing(step, "in progress", f"in progress ({error.short})")
    if text == skeleton(solution):
        return Standing(step, "untouched", "untouched")
    yes = progress.yes_to(step)
    if yes and yes["file"] == progress.digest(text):
        if yes["check"] == progress.digest_of_check(step):
            return Standing(step, "done", "done")
        return Standing(step, "changed", "done, but its check has changed since")
    blanks = len(find_blanks(solution))
    try:
        written = f"{blanks - len(unwritten(parse(text, step.learner_file), solution))} of {blanks} blanks"
    except Unreadable as error:
        line = re.match(r"Line \d+", str(error))
        written = f"{line[0].lower()} is not Python" if line else error.short
    if yes:
        return Standing(step, "changed", f"done, but changed since ({written})")
    return Standing(step, "in progress", f"in progress ({written})")


def first_to_do(steps: list[Step]) -> Step | None:
    """Return the first of these steps that is not done."""
    return next((step for step in steps if standing(step).state != "done"), None)


def title(step: Step) -> str:
    """Return the subject of a step: the first line of its solution, without its number and what follows a comma."""
    words = (ast.get_docstring(ast.parse(step.solution_file.read_text())) or "").partition("\n")[0]
    return words.partition(": ")[2].partition(",")[0].rstrip(".")
