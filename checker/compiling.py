"""Who hears of what is being compiled, by MAX or by Mojo."""

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
    """What is called when a compiler begins with something, and when that has ended.

    ``ended`` is told how many seconds it took, and the error that ended it, if one did.
    """

    began: Callable[[str, Compiler], None]
    ended: Callable[[str, float, BaseException | None], None]


#: Everyone in this process who is told.
listeners: list[Listener] = []


@contextmanager
def compiling(name: str, compiler: Compiler = Compiler.MAX) -> Iterator[None]:
    """While this is open, tell the listeners that something is being compiled."""
    start, failure = time.perf_counter(), None
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
