"""Open a learner's file: read it without running it, and refuse one that cannot be checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from checker.course.blanks import Unwritten, blanks_of, unwritten_blanks
from checker.course.languages import PYTHON
from checker.course.reading import Unreadable, location_in, read_text
from checker.course.source import Source
from checker.course.steps import SOLUTIONS, Step


@dataclass(frozen=True)
class OpenedFile:
    """What is known of a file before it runs: its source, how many blanks the step has, and the unwritten ones."""

    source: Source
    blanks: int
    unwritten: tuple[Unwritten, ...]

    @property
    def can_be_tried(self) -> bool:
        """Whether any blank is written, or the step has none: then claims can be tried."""
        return len(self.unwritten) < self.blanks or not self.blanks


def open_file(step: Step, path: Path, *, is_solution: bool = False) -> OpenedFile:
    """Read a file, and return what is known of it without running it.

    Args:
        step: the step that the file is to solve.
        path: the learner's file, or the solution.
        is_solution: whether it is the solution, in which nothing is left to write.

    Raises:
        Unreadable: the file cannot be checked.
    """
    source = Source(read_text(path))
    try:
        step.language.refuse(source, str(path))
        if is_solution:
            return OpenedFile(source, len(blanks_of(step)), ())
        refuse_imported_solution(step, source)
    except Unreadable as error:
        raise replace(error, source=source) from None
    unwritten = unwritten_blanks(source, step.read_solution(), step.language)
    return OpenedFile(source, len(blanks_of(step)), tuple(unwritten))


def refuse_imported_solution(step: Step, source: Source) -> None:
    """Raise Unreadable if a file imports the solution of its step, or a module that imports that solution."""
    if step.language is not PYTHON:
        return
    solution = f"{SOLUTIONS.name}.{step.solution_file.stem}"
    for module, line in source.imports():
        if solution in solutions_imported_with(module):
            what = "the answer to this step" if module == solution else "which is made of the answer to this step"
            raise Unreadable(
                f"Your file imports {module}, {what}. Write your own, and compare with it once the check passes.",
                "the answer, imported",
                location=location_in(source.lines, line),
                refuted="The file is your own.",
            )


@cache
def solutions_imported_with(module: str) -> set[str]:
    """Return the solutions that are imported with a module: itself, if it is one, and all that it imports."""
    package, _, name = module.rpartition(".")
    path = SOLUTIONS / f"{name}.py"
    if package != SOLUTIONS.name or not path.is_file():
        return set()
    imports = Source(path.read_text(encoding="utf-8")).imports()
    return {module}.union(*(solutions_imported_with(other) for other, _ in imports))
