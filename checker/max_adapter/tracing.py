"""The mode of graphs: whether MAX compiles a graph, or the code that needs it ends there.

A trick, ``abandon``: an exception from inside MAX ends the code that needs the graph.
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
    """What becomes of a graph that MAX would compile."""

    COMPILE = auto()  # a kept graph is loaded; MAX compiles any other
    TRACE = auto()  # a kept graph is loaded; any other is abandoned
    COLLECT = auto()  # every graph is abandoned, kept or not


class AbandonedGraphError(Exception):
    """A graph is abandoned. This is no error: the code that has set the mode catches it."""

    def __init__(self, graph: Graph) -> None:
        super().__init__("MAX is not to compile here")
        self.graph = graph


_mode = ContextVar("_mode", default=GraphMode.COMPILE)


def current_mode() -> GraphMode:
    """Return the mode that this code runs in."""
    return _mode.get()


@contextmanager
def in_mode(mode: GraphMode) -> Iterator[None]:
    """While this is open, graphs are treated as ``mode`` says."""
    before = _mode.set(mode)
    try:
        yield
    finally:
        _mode.reset(before)
