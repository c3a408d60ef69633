"""Find where an exception of the learner's code comes from: the line, what to write instead, the calls before it."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator
from types import FrameType, TracebackType

from checker.course.languages import Line, Location
from checker.course.languages.python import functions
from checker.diagnosis.exceptions import rewrites_for
from checker.diagnosis.rewriting import Place, rewritten

MOST_CALLS = 2  # that are shown
LONGEST_ARGUMENT = 20  # characters of an argument that is shown


def place_in(error: BaseException, path: str) -> tuple[str, int]:
    """Return the innermost function and line of the file ``path`` that an exception passed through.

    A comprehension belongs to the function that it is in, as it does in Python since 3.12.
    """
    function, line = getattr(error, "blank", ""), 0  # a kernel that is still to write has no frames
    for trace in _passed(error, path):
        line = trace.tb_lineno
        name = trace.tb_frame.f_code.co_name
        function = function if name.startswith("<") else name
    return function, line


def line_of(path: str, number: int) -> Line:
    """Return a line of a file, as Python has read it."""
    return Line(number, linecache.getline(path, number).strip())


def location_of(error: BaseException, path: str, wanted: str = "") -> Location | None:
    """Return where in the file ``path`` an exception comes from: the line, what to write instead, the calls before it.

    Args:
        error: what was raised.
        path: the learner's file.
        wanted: the exception that should have been raised, if any.
    """
    passed = [trace for trace in _passed(error, path) if not trace.tb_frame.f_code.co_name.startswith("<")]
    innermost = next(reversed([*_passed(error, path)]), None)
    rules = rewrites_for(error, wanted)
    place = _place(innermost) if innermost else None
    line, instead = rewritten("".join(linecache.getlines(path)), place, rules) if rules else (0, "")
    if innermost is None:
        return Location(line, instead=instead, instead_line=line) if instead else None
    callers = [trace.tb_lineno for trace in passed if trace.tb_frame is not innermost.tb_frame][-MOST_CALLS:]
    return Location(
        *line_of(path, innermost.tb_lineno),
        instead=instead,
        instead_line=line,
        callers=tuple(line_of(path, number) for number in reversed(callers)),
        arguments=_arguments(passed[0].tb_frame) if passed else "",
    )


def fixed_numbers(source: str, solution: str, function: str, path: str) -> Location | None:
    """Return the lines of a function with numbers that the solution's does not contain, such as a recorded size."""
    theirs, ours = (functions(ast.parse(text)).get(function) for text in (source, solution))
    known = {value for _, value in _numbers(ours)} | {0, 1, 2}
    fixed = dict.fromkeys(line for line, value in _numbers(theirs) if value not in known)
    if not fixed:
        return None
    first, *others = (line_of(path, number) for number in fixed)
    return Location(*first, others=tuple(others))


def _numbers(function: ast.AST | None) -> Iterator[tuple[int, float]]:
    for node in ast.walk(function) if function else ():
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield node.lineno, abs(node.value)  # type: ignore[arg-type] # as was just seen


def _passed(error: BaseException, path: str) -> Iterator[TracebackType]:
    """Yield where an exception passed through the file ``path``, the outermost first."""
    trace = error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == path:
            yield trace
        trace = trace.tb_next


def _place(trace: TracebackType) -> Place | None:
    """Return the place of the expression at which a frame failed."""
    positions = [*trace.tb_frame.f_code.co_positions()][trace.tb_lasti // 2]
    return None if None in positions else positions  # type: ignore[return-value]


def _arguments(frame: FrameType) -> str:
    """Return the numbers and words that a function was called with: ``temperature=0, top_k=None``."""
    if frame.f_code.co_name == "<module>":
        return ""
    names, _, _, values = inspect.getargvalues(frame)
    simple = {name: values[name] for name in names if isinstance(values.get(name, frame), int | float | str | None)}
    shown = {name: repr(value) for name, value in simple.items()}
    return ", ".join(f"{name}={value}" for name, value in shown.items() if len(value) <= LONGEST_ARGUMENT)
