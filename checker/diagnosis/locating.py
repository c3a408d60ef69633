"""Find the lines of a learner's file that an exception passed through, or that hold a number of the recording."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from types import TracebackType

from checker.course.languages import Location
from checker.course.languages.python import functions


def place_in(error: BaseException, path: str) -> tuple[str, int]:
    """Return the innermost function and line of the file ``path`` that an exception passed through.

    A comprehension belongs to the function that it is in, as it does in Python since 3.12.
    """
    function, line = getattr(error, "blank", ""), 0  # a kernel that is still to write has no frames
    for trace in passed(error, path):
        line = trace.tb_lineno
        name = trace.tb_frame.f_code.co_name
        function = function if name.startswith("<") else name
    return function, line


def code_in(path: str, number: int) -> str:
    """Return a line of a file, as Python has read it, without the indentation."""
    return linecache.getline(path, number).strip()


def fixed_numbers(source: str, solution: str, function: str, path: str) -> Location | None:
    """Return the lines of a function with numbers that the solution's does not contain, such as a recorded size."""
    theirs, ours = (functions(ast.parse(text)).get(function) for text in (source, solution))
    known = {value for _, value in _numbers(ours)} | {0, 1, 2}
    fixed = dict.fromkeys(line for line, value in _numbers(theirs) if value not in known)
    if not fixed:
        return None
    first, *others = fixed
    return Location(first, code_in(path, first), more=[f"line {number}: {code_in(path, number)}" for number in others])


def _numbers(function: ast.AST | None) -> Iterator[tuple[int, float]]:
    for node in ast.walk(function) if function else ():
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield node.lineno, abs(node.value)  # type: ignore[arg-type] # as was just seen


def passed(error: BaseException, path: str) -> Iterator[TracebackType]:
    """Yield where an exception passed through the file ``path``, the outermost first."""
    trace = error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == path:
            yield trace
        trace = trace.tb_next
