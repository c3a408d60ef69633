"""How far you are: ``python -m checker.status`` lists every step and warm-up.

A step is untouched, in progress, done, or done but changed since. It is read from the files; that a check
said yes, which no file shows, comes from ``checker/course/progress.py``, and only for exactly the file it said it to.
"""

from __future__ import annotations

import argparse
import sys

from checker.course.paths import relative_path
from checker.course.steps import Step, all_steps
from checker.session.printer import Printer

STYLES = {"done": "green", "untouched": "dim", "missing": "yellow"}


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
        printer.line(f"Next: {relative_path(step.learner_file)}, checked by `./run {step.task}`.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
