"""What becomes of a graph that MAX would compile, for as long as a context is open that says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum, auto
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from max.graph import Graph


class GraphMode(Enum):
    """What becomes of a graph that is met."""

    COMPILE = auto()  # it is found among those that are kept, or MAX compiles it
    TRACE = auto()  # it is found among those that are kept, or is abandoned
    COLLECT = auto()  # it is abandoned, whether it is kept or not


class AbandonedGraphError(Exception):
    """A graph is abandoned; this ends what would go on with it, from :func:`abandon` to :func:`up_to_compiling`."""

    def __init__(self, graph: Graph) -> None:
        super().__init__("MAX is not to compile here")
        self.graph = graph


_mode = ContextVar("_mode", default=GraphMode.COMPILE)


def mode() -> GraphMode:
    """Return the mode that this code runs in."""
    return _mode.get()


@contextmanager
def up_to_compiling(mode: GraphMode) -> Iterator[list[Graph]]:
    """While this is open, what has a graph abandoned ends there, which is no error.

    Yields:
        A list, which has the graph then.
    """
    abandoned: list[Graph] = []
    before = _mode.set(mode)
    try:
        yield abandoned
    except AbandonedGraphError as error:
        abandoned.append(error.graph)
    finally:
        _mode.reset(before)


def abandon(graph: Graph) -> NoReturn:
    """End what would go on with this graph."""
    raise AbandonedGraphError(graph)
