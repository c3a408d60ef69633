"""Tell whoever listens what MAX or Mojo is compiling.

In a check, ``parent/advance.py`` says after how long that is shown; ``terminal`` shows it, and for the page
``parent/records.py``. Commands of the finished model show it by ``play/compiling_line.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum


class Compiler(StrEnum):
    """Whose compiler is at work."""

    MAX = "MAX"
    MOJO = "Mojo"


@dataclass(frozen=True)
class Listener:
    """The functions to call when a compilation begins and when it has ended.

    ``ended`` gets the seconds that the compilation took, and the error that ended it, if one did.
    """

    began: Callable[[str, Compiler], None]
    ended: Callable[[str, float, BaseException | None], None]


#: All that listen in this process.
listeners: list[Listener] = []

#: What this process compiles at this moment, the innermost last; what Ctrl-C has ended stays, since that will be told.
compiled_now: list[str] = []


@contextmanager
def compiling(name: str, compiler: Compiler = Compiler.MAX) -> Iterator[None]:
    """While this is open, tell the listeners that something is being compiled."""
    start, failure = time.perf_counter(), None
    compiled_now.append(name)
    for listener in listeners:
        listener.began(name, compiler)
    try:
        yield
    except BaseException as error:
        failure = error
        raise
    finally:
        for listener in listeners:
            listener.ended(name, time.perf_counter() - start, failure)
        if not isinstance(failure, KeyboardInterrupt):
            compiled_now.remove(name)
