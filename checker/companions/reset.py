"""Begin a step again: ``python -m checker.reset 07 [--yes]``, or ``--all``.

The skeleton is generated anew. The learner's file is kept beside it first, so nothing is lost; hints
begin again too.
"""

from __future__ import annotations

import argparse
import sys

from checker.course import progress
from checker.course.paths import relative_path
from checker.course.skeletons import expected, keep
from checker.course.steps import Step, all_steps, find_step
from checker.session.printer import Printer, asked

UNUSABLE = 2


def is_untouched(step: Step) -> bool:
    """Whether the learner's file is the skeleton, to the letter."""
    try:
        return step.learner_file.read_text(encoding="utf-8") == expected(step)
    except (FileNotFoundError, UnicodeDecodeError):
        return False


def reset(step: Step, printer: Printer) -> None:
    """Write the skeleton of a step, after keeping what is there."""
    path = step.learner_file
    if path.is_file():
        printer.line(f"Your {relative_path(path)} is kept as {relative_path(keep(path))}.")
    path.parent.mkdir(exist_ok=True)
    path.write_text(expected(step), encoding="utf-8")
    printer.line(f"{relative_path(path)} is the skeleton again.")


def main(arguments: list[str] | None = None) -> int:
    """Reset one step or all. Exit status 2 when nobody could be asked."""
    parser = argparse.ArgumentParser(prog="reset", description="Begin a step again; your file is kept beside it.")
    parser.add_argument("step", nargs="?", help="07, s07 or w01")
    parser.add_argument("--all", action="store_true", help="every step and warm-up")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    options = parser.parse_args(arguments)
    try:
        if options.all == bool(options.step):
            raise ValueError("say which step to reset, `./run reset 07`, or `./run reset --all`")
        steps = all_steps() if options.all else [find_step(options.step)]
    except ValueError as error:
        print(f"reset: {error}", file=sys.stderr)
        return UNUSABLE
    printer = Printer()
    touched = [step for step in steps if not is_untouched(step)]
    for step in touched:
        if not step.learner_file.is_file():
            printer.line(f"{relative_path(step.learner_file)} is missing and will be written anew.")
    with_work = [step for step in touched if step.learner_file.is_file()]
    if with_work and not options.yes:
        what = (
            f"This puts the skeleton in place of {', '.join(relative_path(step.learner_file) for step in with_work)}."
        )
        answer = asked(f"{what} What is there now is kept beside it. Reset?")
        if answer is None:
            print(f"reset: {what} What is there now is kept beside it. Add --yes to do so.", file=sys.stderr)
            return UNUSABLE
        if not answer:
            printer.line("Nothing was changed.")
            return 0
    try:
        for step in touched:
            reset(step, printer)
        for step in steps:
            progress.forget(step)
    except OSError as error:
        print(f"reset: {error}. Is the folder of the course writable?", file=sys.stderr)
        return UNUSABLE
    if not touched:
        one = f"{relative_path(steps[0].learner_file)} is" if len(steps) == 1 else "Every file in steps/ is"
        printer.line(f"{one} untouched.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
