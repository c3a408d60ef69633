"""Make variants of the solutions: their texts, the differences to look at, and modules that run."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from difflib import unified_diff
from functools import cache
from types import ModuleType

from checker.course.attempts import edited
from checker.course.steps import find_step
from tools.modern.variants import VARIANTS

STEPS = ("01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "14")  # in the order of their imports
CONTEXT = 2  # lines around a change
LENGTH = re.compile(r"(?<=\.) \(\d+ lines?\)$", re.MULTILINE)  # the end of a blank's comment


def text_of(step: str, names: Iterable[str]) -> str:
    """Return the text of a solution with some variants applied, without the lengths of its blanks.

    Raises:
        ValueError: there is no such variant, or the solution no longer has what a variant edits.
    """
    wanted = set(names)
    if unknown := wanted - set(VARIANTS):
        raise ValueError(f"there is no variant {', '.join(sorted(unknown))}; choose from {', '.join(VARIANTS)}")
    text = LENGTH.sub("", find_step(step).solution_file.read_text())
    for name, edits in VARIANTS.items():
        if name in wanted:
            text = edited(text, edits.get(step, {}))
    return text


def diff(name: str, step: str) -> str:
    """Return what a variant changes in the solution of a step, as a unified diff without file headers.

    Raises:
        ValueError: there is no such variant, or it changes nothing in that step.
    """
    before, after = text_of(step, []), text_of(step, [name])
    lines = list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=CONTEXT))[2:]
    if not lines:
        raise ValueError(f"{name} changes nothing in step {step}; it edits {', '.join(VARIANTS[name])}")
    return "".join(f"{line}\n" for line in lines)


@cache
def load(*names: str) -> dict[str, ModuleType]:
    """Return the modules of the steps with some variants applied, by the step's number; they import each other.

    Raises:
        ValueError: there is no such variant, or the solution no longer has what a variant edits.
    """
    package = "_".join(["modern", *names])
    sys.modules[package] = ModuleType(package)
    modules = {}
    for step in STEPS:
        name = find_step(step).solution_file.stem
        module = ModuleType(f"{package}.{name}")
        sys.modules[module.__name__] = module
        text = text_of(step, names).replace("from solutions.", f"from {package}.")
        exec(compile(text, f"{name}.py of {package}", "exec"), vars(module))
        modules[step] = module
    return modules
