"""Run a claim again, for the line of the learner's file that an error of MAX's comes from.

An operation of MAX's is only noted where the file asks for it, and computed once a claim looks at the numbers. An error
on the way then comes from no line of the file. Once more, with every operation computed where it stands, it comes from
the line that is to blame. What a claim is given must forget the first run: what is drawn begins anew, and so does what
a fixture has kept of a learner's function (``functools.cache``), since MAX ends the process if it is asked again for a
tensor that it cannot compute.

A trick, ``rerun``: nobody would expect a failed claim to run twice.
"""

from __future__ import annotations

from typing import Any

import pytest

from checker.diagnosis.frames import passed_through

NO_GRAPH = "No graph found"  # what MAX says at once of an operation that only a graph has


def from_its_line(
    item: pytest.Function, failure: pytest.ExceptionInfo[BaseException], path: str
) -> pytest.ExceptionInfo[BaseException]:
    """Return the failure of a claim as it comes from a line of the file ``path``; if it does not, as it came."""
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
        return again
    return failure
