"""How far a step is.

A step is untouched, in progress, done, or done but changed since. This is read from the files. What a check said, which
no file shows, comes from ``progress``, and counts only for a file that means what the checked one meant.
"""

from __future__ import annotations

from dataclasses import dataclass

from checker.course import progress
from checker.course.blanks import skeleton
from checker.course.languages import Unreadable
from checker.course.static import Missing, read_statically
from checker.course.steps import Step


@dataclass(frozen=True)
class Standing:
    """Where one step stands: ``state`` is ``untouched``, ``missing``, ``in progress``, ``done`` or ``changed``.

    ``refused`` says that the file as it is failed its last check.
    """

    step: Step
    state: str
    words: str
    refused: bool = False


def standing(step: Step) -> Standing:
    """Return where a step stands now."""
    record = progress.read()
    passed = record["pass"].get(step.name)
    state, begun = ("changed", "changed since its pass") if passed else ("in progress", "in progress")
    try:
        static = read_statically(step, step.learner_file)
    except Missing:
        return Standing(step, "missing", "missing: `./run skeletons` writes it anew")
    except Unreadable as error:
        place = error.location
        why = f"line {place.line} is not {step.language.name}" if place else error.short
        return Standing(step, state, f"{begun} ({why})")
    if static.source == skeleton(step.solution_file.read_text(), step.language):
        return Standing(step, "untouched", "untouched")
    code = progress.digest_of_code(step, static.source)
    if passed and passed["code"] == code:
        if passed["check"] != progress.digest_of_check(step):
            return Standing(step, "changed", "done, but its check has changed since")
        return Standing(step, "done", "done" if passed["compiled"] else "pass, not compiled")
    to_write = len(static.to_write)
    refused = record["fail"].get(step.name) == code
    checked = "last check: fail" if refused else "not checked" if passed or not to_write else ""
    written = f"{static.blanks - to_write} of {static.blanks} blanks" if to_write or not passed else ""
    details = ", ".join(filter(None, [written, checked]))
    return Standing(step, state, f"{begun} ({details})", refused)


def first_to_do(steps: list[Step]) -> Step | None:
    """Return the first of these steps that is not done."""
    return next((step for step in steps if standing(step).state != "done"), None)


def next_to_do(steps: list[Step]) -> Step | None:
    """Return the step to continue with: the one being worked on, else the first to do after the last that is done.

    So a learner who skips the warm-ups is not sent back to them before everything else is done.
    """
    standings = [standing(step) for step in steps]
    begun = [each.step for each in standings if each.state in ("in progress", "changed")]
    if begun:
        return max(begun, key=lambda step: step.learner_file.lstat().st_mtime)
    done = [number for number, each in enumerate(standings) if each.state == "done"]
    after = done[-1] + 1 if done else 0
    return first_to_do([*steps[after:], *steps[:after]])
