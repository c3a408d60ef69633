"""Who hears of what is being compiled, by MAX or by Mojo."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Called with ``(what, None)`` when something begins to compile, and with ``(what, seconds)`` after.
CompilingHeard = Callable[[str, float | None], None]

#: Everyone in this process who is told.
listeners: list[CompilingHeard] = []


@contextmanager
def compiling(what: str) -> Iterator[None]:
    """While this is open, tell the listeners that something is being compiled."""
    start = time.perf_counter()
    for listener in listeners:
        listener(what, None)
    try:
        yield
    finally:
        for listener in listeners:
            listener(what, time.perf_counter() - start)
