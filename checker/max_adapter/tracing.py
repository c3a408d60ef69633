"""What becomes of a graph that MAX would compile, for as long as a context is open that says so.

A trick, ``abandon``: an exception from inside MAX ends what would go on with the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from max.graph import Graph


class GraphMode(Enum):
    """What becomes of a graph that is met."""

    COMPILE = auto()  # it is found among those that are kept, or MAX compiles it
    TRACE = auto()  # it is found among those that are kept, or is abandoned
    COLLECT = auto()  # it is abandoned, whether it is kept or not


class AbandonedGraphError(Exception):
    """A graph is abandoned, which is no error: whoever has set the mode catches it, and what was run ends there."""

    def __init__(self, graph: Graph) -> None:
        super().__init__("MAX is not to compile here")
        self.graph = graph


_mode = ContextVar("_mode", default=GraphMode.COMPILE)


def mode() -> GraphMode:
    """Return the mode that this code runs in."""
    return _mode.get()


@contextmanager
def in_mode(mode: GraphMode) -> Iterator[None]:
    """While this is open, graphs are treated by ``mode``."""
    before = _mode.set(mode)
    try:
        yield
    finally:
        _mode.reset(before)
