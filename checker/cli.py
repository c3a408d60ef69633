"""Grade one step: ``python -m checker 07 [--solution] [--no-compile] [--device cpu|gpu]``.

Exit status 0 means yes and nothing else does; 1 is a no, 2 a call that cannot be carried out.
"""

from __future__ import annotations

import argparse
import sys

from checker import interrupts
from checker.course.blanks import find_blanks
from checker.course.steps import find_step
from checker.session.check import grade
from checker.session.printer import Printer

UNUSABLE = 2


def main(arguments: list[str] | None = None) -> int:
    """Grade the step that the arguments name, print the verdict and return the exit status."""
    interrupts.restore()
    parser = argparse.ArgumentParser(prog="check", description="Check a step against Hugging Face's GPT-2.")
    parser.add_argument("step", help="07, s07 or w01")
    parser.add_argument("--solution", action="store_true", help="grade the reference solution instead of your file")
    parser.add_argument("--no-compile", action="store_true", help="stop after the numbers")
    parser.add_argument("--device", choices=["cpu", "gpu"], help="compile for this device alone")
    options = parser.parse_args(arguments)
    try:
        step = find_step(options.step)
    except ValueError as error:
        print(f"check: {error}", file=sys.stderr)
        return UNUSABLE
    printer = Printer(blank.label for blank in find_blanks(step.solution_file.read_text()))
    return grade(step, printer, solution=options.solution, compile_=not options.no_compile, device=options.device)
