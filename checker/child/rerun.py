"""Run a claim again, to find the line of the learner's file that an error of MAX's comes from.

MAX only notes an operation where the file asks for it, and computes it once a claim looks at the numbers. An error then
comes from no line of the file. If the claim runs again, with every operation computed at once, the error comes from the
line that is to blame. The claim's inputs must forget the first run: the numbers are drawn anew, and results of a
learner's function that a fixture has kept (``functools.cache``) are dropped, since MAX ends the process if it is asked
again for a tensor that it cannot compute.

A trick, ``rerun``: nobody would expect a failed claim to run twice.
"""

from __future__ import annotations

from typing import Any

import pytest

from checker.diagnosis.frames import passed_through

NO_GRAPH = "No graph found"  # MAX's words for an operation that it can only compute in a graph


def error_at_its_line(item: pytest.Function, error: BaseException, path: str) -> BaseException:
    """Return the error of a second run, if that comes from a line of the file ``path``; else the first ``error``."""
    from checker.max_adapter.runtime import eagerly  # which imports MAX: most claims raise no error

    draw: Any = item.funcargs.get("draw")
    if draw:
        draw.start_over()
    for value in item.funcargs.values():
        if hasattr(value, "cache_clear"):
            value.cache_clear()
    with eagerly():
        again = pytest.CallInfo.from_call(item.runtest, "call").excinfo
    if again and passed_through(again.value, path) and NO_GRAPH not in str(again.value):
        return again.value
    return error
