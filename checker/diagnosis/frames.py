"""Find the lines of a learner's file that an exception passed through."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from types import TracebackType


def function_and_line(error: BaseException, path: str) -> tuple[str, int]:
    """Return the innermost function and line of the file ``path`` that an exception passed through.

    A comprehension belongs to the function that it is in, as it does in Python since 3.12.
    """
    function, line = getattr(error, "blank", ""), 0  # a kernel that is still to write has no frames
    for trace in traces_in(error, path):
        line = trace.tb_lineno
        name = trace.tb_frame.f_code.co_name
        function = function if name.startswith("<") else name
    return function, line


def code_in(path: str, number: int) -> str:
    """Return a line of a file, from Python's cache of lines, without the indentation."""
    return linecache.getline(path, number).strip()


def traces_in(error: BaseException, path: str) -> Iterator[TracebackType]:
    """Yield the parts of an exception's traceback that are in the file ``path``, the outermost first."""
    trace = error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == path:
            yield trace
        trace = trace.tb_next


def passed_through(error: BaseException, path: str) -> bool:
    """Return whether an exception passed through the file ``path``."""
    return any(traces_in(error, path))
