"""How far you are: ``python -m checker.status`` lists every step and warm-up.

A step is untouched, in progress, done, or done but changed since. It is read from the files; that a check
said yes, which no file shows, comes from ``checker/progress.py``, and only for exactly the file it said it to.
"""

from __future__ import annotations

import argparse
import ast
import sys
from dataclasses import dataclass

from checker import progress
from checker.blanks import find_blanks, skeleton, unwritten
from checker.paths import Step, all_steps, shown
from checker.verdict import Printer

STYLES = {"done": "green", "untouched": "dim", "missing": "yellow"}


@dataclass(frozen=True)
class Standing:
    """Where one step stands: ``state`` is ``untouched``, ``missing``, ``in progress``, ``done`` or ``changed``."""

    step: Step
    state: str
    words: str


def standing(step: Step) -> Standing:
    """Where a step stands now."""
    solution = step.solution_file.read_text()
    try:
        text = step.learner_file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Standing(step, "missing", "missing: `./run skeletons` writes it anew")
    except UnicodeDecodeError:
        return Standing(step, "in progress", "in progress (not UTF-8 text)")
    if text == skeleton(solution):
        return Standing(step, "untouched", "untouched")
    yes = progress.yes_to(step)
    if yes and yes["file"] == progress.digest(text):
        if yes["check"] == progress.digest_of_check(step):
            return Standing(step, "done", "done")
        return Standing(step, "changed", "done, but its check has changed since")
    blanks = len(find_blanks(solution))
    try:
        written = f"{blanks - len(unwritten(ast.parse(text), solution))} of {blanks} blanks"
    except SyntaxError as error:
        written = f"line {error.lineno} is not Python" if error.lineno else "not Python"
    except ValueError:  # a null byte; newer Pythons call that a syntax error without a line
        written = "not Python"
    if yes:
        return Standing(step, "changed", f"done, but changed since ({written})")
    return Standing(step, "in progress", f"in progress ({written})")


def first_to_do(steps: list[Step]) -> Step | None:
    """The first of these steps that is not done."""
    return next((step for step in steps if standing(step).state != "done"), None)


def title(step: Step) -> str:
    """What a step is about: the first line of its solution, without its number and what follows a comma."""
    words = (ast.get_docstring(ast.parse(step.solution_file.read_text())) or "").partition("\n")[0]
    return words.partition(": ")[2].partition(",")[0].rstrip(".")


def list_all(printer: Printer, current: Step | None = None) -> None:
    """A line for every step, and how many are done; an arrow at ``current``."""
    steps = all_steps()
    standings = [standing(step) for step in steps]
    width = max(len(one.words) for one in standings)
    for one in standings:
        mark = ">" if one.step == current else " "
        about = "" if printer.console.width < width + 40 else f"  {title(one.step)}"
        style = STYLES.get(one.state, "yellow")
        printer.styled(f"{mark} {one.step.task}  ", (f"{one.words:<{width}}", style), about)
    done = sum(one.state == "done" for one in standings)
    printer.line(f"\n{done} of {len(steps)} done.")


def main(arguments: list[str] | None = None) -> int:
    """List every step, and say which comes next."""
    parser = argparse.ArgumentParser(prog="status", description="List every step and warm-up and how far it is.")
    parser.parse_args(arguments)
    printer = Printer()
    list_all(printer)
    step = first_to_do(all_steps())
    if step:
        printer.line(f"Next: {shown(step.learner_file)}, checked by `./run {step.task}`.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
