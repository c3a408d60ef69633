"""Start a step over: generate its skeleton again, and go back to its first hint.

The learner's file is kept beside it first, so nothing is lost.
"""

from __future__ import annotations

from pathlib import Path

from checker.course import progress
from checker.course.skeletons import expected, is_untouched, keep
from checker.course.steps import Step, relative_path
from checker.errors import UserError
from checker.session.printer import Printer, asked


def reset(step: Step, *, sure: bool) -> None:
    """Replace the learner's file with the skeleton, after keeping a copy.

    A person at a terminal is asked first, unless ``sure``. Nothing is lost either way.

    Raises:
        UserError: the file cannot be written.
    """
    printer, file, is_changed = Printer(), relative_path(step.learner_file), not is_untouched(step)
    what = f"This puts the skeleton in place of {file}. What is there now is kept beside it."
    if is_changed and step.learner_file.is_file() and not sure and asked(f"{what} Reset?") is False:
        printer.line("Nothing was changed.")
        return
    try:
        copy = begin_again(step)
    except OSError as error:
        raise UserError(f"{error}. Is the folder of the course writable?") from error
    if is_changed:
        printer.line(f"Your {file} is kept as {relative_path(copy)}." if copy else f"{file} was missing.")
        printer.line(f"{file} is the skeleton again.")
    else:
        printer.line(f"{file} is untouched.")


def begin_again(step: Step) -> Path | None:
    """Write the skeleton of a step, and forget its hints and verdicts; return the copy of the learner's work, if any.

    Raises:
        OSError: the file cannot be kept or written.
    """
    path, copy = step.learner_file, None
    if not is_untouched(step):
        copy = keep(path) if path.is_file() else None
        path.parent.mkdir(exist_ok=True)
        path.write_text(expected(step), encoding="utf-8")
    progress.forget(step)
    return copy
