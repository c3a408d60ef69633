"""What people write instead of a solution, kept apart from the claims: ``tests/attempts/step_07.py``.

Such a file defines three tables: ``MISTAKES`` (a sentence -> the edits that make that mistake), ``ALTERNATIVES`` (a
name -> the edits that turn the solution into another right answer), and ``HABITS`` (what people bring along from
PyTorch or Python -> the edits that put it into the solution; the check shows the line to write instead). It may define
``FIXED``: numbers of the recorded configuration, written into the code. If the solution is a kernel, it defines
``MODELS``: each mistake once more, as edits of the kernel's model in NumPy, which is how it is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from checker.course.blanks import find_blanks
from checker.course.languages import Language
from checker.course.languages.python import PYTHON
from checker.course.paths import relative_path
from checker.course.steps import Step

TABLES = ("MISTAKES", "ALTERNATIVES", "HABITS")
FIXED, MODELS = "FIXED", "MODELS"  # not every step has them

Edits = Mapping[str, str]  # what occurs once in the solution -> what to put there


@dataclass(frozen=True)
class Attempts:
    """Wrong answers and other right ones, as edits of a step's solution."""

    mistakes: Mapping[str, Edits]  # the sentence that names a mistake -> how to make it
    alternatives: Mapping[str, Edits]  # a name -> how to write the solution that way
    habits: Mapping[str, Edits]  # a name -> how people used to another library write it
    fixed: Mapping[str, Edits] = field(default_factory=dict)  # a name -> how to write a recorded size into the code
    models: Mapping[str, Edits] = field(default_factory=dict)  # the mistakes of a kernel, made in its model


def load_attempts(step: Step) -> Attempts:
    """Run the file that holds the tables of a step; they are empty if there is no such file.

    Raises:
        ValueError: a table is missing, or is not a dictionary of dictionaries of text.
    """
    path = step.attempts_file
    if not path.exists():
        return Attempts({}, {}, {})
    namespace: dict[str, object] = {"__name__": f"attempts.{path.stem}", FIXED: {}, MODELS: {}}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    for table in (*TABLES, FIXED, MODELS):
        if not _is_table(namespace.get(table)):
            raise ValueError(f"{relative_path(path)} must define {table}, a dict that maps each str to a dict of str")
    return Attempts(*(namespace[table] for table in (*TABLES, FIXED, MODELS)))  # type: ignore[arg-type]


def mistakes_in_python(step: Step) -> Mapping[str, Edits]:
    """Return the mistakes of a step as edits of ``step.model_file``: of the solution or, of a kernel, of its model."""
    attempts = load_attempts(step)
    return attempts.mistakes if step.language is PYTHON else attempts.models


def _is_table(found: object) -> bool:
    return isinstance(found, dict) and all(
        isinstance(name, str)
        and isinstance(edits, dict)
        and all(isinstance(old, str) and isinstance(new, str) for old, new in edits.items())
        for name, edits in found.items()
    )


def places(solution: str, edits: Edits, language: Language = PYTHON) -> set[str]:
    """Return the functions with a blank that edits change, by their qualified names."""
    found = set()
    for old in edits:
        before = solution.partition(old)[0]
        first, last = before.count("\n") + 1, (before + old.rstrip("\n")).count("\n") + 1
        found |= {
            name for name, lines in _lines_of(solution, language).items() if lines.start <= last and first < lines.stop
        }
    return found


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
