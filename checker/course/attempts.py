"""What people write instead of a solution, kept apart from the claims: ``tests/attempts/step_07.py``.

Such a file defines three tables: ``MISTAKES`` (a sentence -> the edits that make that mistake), ``ALTERNATIVES`` (a
name -> the edits that turn the solution into another right answer), and ``HABITS`` (what people bring along from
PyTorch or Python -> the edits that put it into the solution; the check shows the line to write instead). It may define
``FIXED``: numbers of the recorded configuration, written into the code. If the solution is a kernel, it defines
``MODELS``: each mistake once more, as edits of the kernel's model in NumPy, which is how it is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from checker.course.blanks import find_blanks
from checker.course.languages import PYTHON, Language
from checker.course.steps import Step

TABLES = ("MISTAKES", "ALTERNATIVES", "HABITS", "FIXED", "MODELS")

Edits = Mapping[str, str]  # what occurs once in the solution -> what to put there


@dataclass(frozen=True)
class Attempts:
    """Wrong answers and other right ones, as edits of a step's solution."""

    mistakes: Mapping[str, Edits]  # the sentence that names a mistake -> how to make it
    alternatives: Mapping[str, Edits]  # a name -> how to write the solution that way
    habits: Mapping[str, Edits]  # a name -> how people used to another library write it
    fixed: Mapping[str, Edits]  # a name -> how to write a recorded size into the code
    models: Mapping[str, Edits]  # the mistakes of a kernel, made in its model


def load_attempts(step: Step) -> Attempts:
    """Run the file that holds the tables of a step; those that it does not define are empty."""
    path = step.attempts_file
    namespace: dict[str, Any] = {table: {} for table in TABLES} | {"__name__": f"attempts.{path.stem}"}
    if path.exists():
        exec(compile(path.read_text(), str(path), "exec"), namespace)
    return Attempts(*(namespace[table] for table in TABLES))


def places(solution: str, edits: Edits, language: Language = PYTHON) -> set[str]:
    """Return the functions with a blank that edits change, by their qualified names."""
    changed = set()
    for old in edits:
        before = solution.partition(old)[0]
        first, last = before.count("\n") + 1, (before + old.rstrip("\n")).count("\n") + 1
        lines_of = _lines_of(solution, language).items()
        changed |= {name for name, lines in lines_of if lines.start <= last and first < lines.stop}
    return changed


@cache
def _lines_of(solution: str, language: Language) -> dict[str, range]:
    """Return the lines of the functions with a blank."""
    functions = language.functions(solution)
    names = [blank.function for blank in find_blanks(solution, language)]
    return {name: range(functions[name].defined, functions[name].last + 1) for name in names}


def edited(source: str, edits: Edits) -> str:
    """Return the source of a solution with every ``old`` replaced by its ``new``.

    Raises:
        ValueError: an ``old`` does not occur exactly once in the source.
    """
    for old, new in edits.items():
        if source.count(old) != 1:
            raise ValueError(f"{old!r} occurs {source.count(old)} times in the solution, and must occur once")
        source = source.replace(old, new)
    return source
