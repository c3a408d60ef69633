"""Find where an exception of the learner's code comes from: the line, what to write instead, the calls before it."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator
from types import FrameType, TracebackType

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


def line_in_words(path: str, line: int) -> str:
    """Return ``line 57: weights = F.softmax(scores)``; nothing for line 0."""
    return f"line {line}: {linecache.getline(path, line).strip()}" if line else ""


def where_in_words(error: BaseException, path: str, wanted: str = "") -> str:
    """Return the line of the file ``path`` that an exception comes from, and below it what else is known.

    That is the line to write instead, the lines of the file that called the function, and what the first of them was
    called with.

    Args:
        error: what was raised.
        path: the learner's file.
        wanted: the exception that should have been raised, if any.
    """
    passed = [trace for trace in _passed(error, path) if not trace.tb_frame.f_code.co_name.startswith("<")]
    innermost = next(reversed([*_passed(error, path)]), None)
    failed = innermost.tb_lineno if innermost else 0
    lines = [line_in_words(path, failed)] if failed else []
    rules = rewrites_for(error, wanted)
    place = _place(innermost) if innermost else None
    line, instead = rewritten("".join(linecache.getlines(path)), place, rules) if rules else (0, "")
    if instead and line == failed:
        lines.append(f"{'write':>{lines[0].index(':')}}: {instead}")
    elif instead:
        lines.append(f"write in line {line}: {instead}")
    if innermost is None:
        return "\n".join(lines)
    callers = [trace for trace in passed if trace.tb_frame is not innermost.tb_frame][-MOST_CALLS:]
    lines += [f"called from {line_in_words(path, trace.tb_lineno)}" for trace in reversed(callers)]
    if passed and (arguments := _arguments(passed[0].tb_frame)):
        lines.append(f"called with {arguments}")
    return "\n".join(lines)


def fixed_numbers(source: str, solution: str, function: str) -> list[int]:
    """Return the lines of a function with numbers that the solution's does not contain, such as a recorded size."""
    theirs, ours = (functions(ast.parse(text)).get(function) for text in (source, solution))
    known = {value for _, value in _numbers(ours)} | {0, 1, 2}
    return list(dict.fromkeys(line for line, value in _numbers(theirs) if value not in known))


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
