"""Run a learner's files wherever solutions are imported, and tell which of them an error comes from.

Two tricks: ``finder``, a finder of modules puts these files in place of the solutions; and ``refusal``, whether a
ValueError of theirs is a sentence for the user is read in the line that raised it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from checker.course.standings import standing_of
from checker.course.steps import Step, relative_path
from checker.errors import UserError

PLACE = re.compile(r'File "(.+?)", line (\d+)')  # in a message of MAX's with MODULAR_DEBUG=source-tracebacks

COMPILING = {"max.engine.api", "checker.max_adapter.graph_store"}

#: The learner's steps that stand in for solutions, by the path of their file.
steps_by_file: dict[str, Step] = {}


def stand_in(steps: Sequence[Step]) -> None:
    """Let imports of these solutions import the learner's files; a solution that was imported is imported again."""
    if not {str(step.learner_file) for step in steps} <= steps_by_file.keys():
        loaded = [name for name in sys.modules if name.startswith("solutions.")]
        assert not loaded, f"{loaded} were imported too early"
        sys.meta_path.insert(0, _Mine(steps))


class _Mine(importlib.abc.MetaPathFinder):
    """Finds the learner's file wherever a solution is imported."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.files = {f"solutions.{step.solution_file.stem}": step.learner_file for step in steps}
        steps_by_file.update({str(step.learner_file): step for step in steps})

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of the learner's file, for the solutions that it stands in for."""
        file = self.files.get(fullname)
        if file is None:
            return None
        return importlib.util.spec_from_file_location(fullname, file)


def file_in_use(step: Step) -> Path:
    """Return the file that runs for a step: the learner's if it stands in for the solution, else the solution.

    This is for steps in Mojo, which are compiled from the file; a step in Python is imported.
    """
    return step.learner_file if str(step.learner_file) in steps_by_file else step.solution_file


# ---------------------------------------------------------------- which step is to blame


def where_to_look() -> str:
    """Return what to do if the learner's steps in use fail, and none of their lines is known to be at fault."""
    tasks = [step.task for step in steps_by_file.values() if not standing_of(step).is_done]
    if not tasks:
        return "each of them has passed; with MODULAR_DEBUG=source-tracebacks before the command, MAX names the line"
    return f"look first at what no check has passed as it is: {', '.join(tasks)}; `./run {tasks[0]}` checks it"


def failing_file(error: BaseException) -> str | None:
    """Return the learner's file in use that an error comes from, the innermost that it passed through, if any.

    What MAX's compiler refuses comes from the graph of all steps, though one of them called the compiler.
    """
    files, modules = [], set[str]()
    for frame, _ in traceback.walk_tb(error.__traceback__):
        files.append(frame.f_code.co_filename)
        modules.add(frame.f_globals.get("__name__", ""))
    if modules & COMPILING:
        return None
    return next((file for file in reversed(files) if file in steps_by_file), None)


def line_that_failed(error: BaseException) -> str:
    """Return a sentence with the learner's line that an error comes from, and what to do; nothing if there is none."""
    file = failing_file(error)
    if not file:
        return ""
    line = [number for frame, number in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file][-1]
    what = traceback.format_exception_only(error)[-1].strip()
    return f"{relative_path(Path(file))}, line {line}: {what}\n`./run {steps_by_file[file].task}` checks this step"


def line_in_graph(error: BaseException) -> tuple[str, int] | None:
    """Return the learner's file and line of the operation that failed in a graph, if MAX was told to keep them."""
    lines = [(file, int(number)) for file, number in PLACE.findall(str(error)) if file in steps_by_file]
    return lines[-1] if lines else None


def is_refusal(error: Exception) -> bool:
    """Return whether an error says what cannot be done, and so blames no step."""
    if isinstance(error, OSError):
        return failing_file(error) is None  # no step opens a file, so nobody wrote a sentence for it
    return isinstance(error, UserError) or (isinstance(error, ValueError) and _a_solution_raised(error))


def _a_solution_raised(error: ValueError) -> bool:
    """Return whether a ``raise`` in a function of a solution, or of what stands in for one, has raised an error.

    A ValueError of NumPy's, or of an unpacking, comes from a line without one, or from code of others.
    """
    frame, number = [*traceback.walk_tb(error.__traceback__)][-1]
    if frame.f_code.co_name == "<module>":
        return False  # nothing has asked it yet for what it could not do
    is_of_solutions = frame.f_globals.get("__name__", "").startswith("solutions.")
    return is_of_solutions and "raise " in linecache.getline(frame.f_code.co_filename, number)
