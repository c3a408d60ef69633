"""The plugin of pytest's that runs each claim as far as its stage goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import pytest

from checker.child.claim_items import about_of
from checker.child.selection import ClaimsToRun
from checker.max_adapter.tracing import AbandonedGraphError, GraphMode, in_mode
from checker.stages import Stage

if TYPE_CHECKING:  # a step without MAX does not import it
    from max.graph import Graph


class Runner:
    """Runs each claim: at the stage TRACING up to where MAX would compile, at any other to its end.

    Args:
        claims_to_run: which claims.
        mode: what becomes of a graph at the stage TRACING.

    Attributes:
        abandoned_graphs: those at which claims have ended, since MAX was not to compile, by the ids of their items.
    """

    def __init__(self, claims_to_run: ClaimsToRun, mode: GraphMode = GraphMode.TRACE) -> None:
        self.claims_to_run, self.mode = claims_to_run, mode
        self.abandoned_graphs: dict[str, Graph] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[None]:
        """Have pytest run a claim; that its graph is abandoned is no error."""
        with self.tracing(), self.noting(pyfuncitem):
            try:
                return (yield)
            except AbandonedGraphError as error:
                self.abandoned_graphs[pyfuncitem.nodeid] = error.graph
                return None

    def tracing(self) -> AbstractContextManager[None]:
        """Return what is open while a claim runs: at the stage TRACING, a context in which MAX compiles nothing."""
        if self.claims_to_run.stage is Stage.TRACING:
            return in_mode(self.mode)
        return nullcontext()

    def noting(self, item: pytest.Function) -> AbstractContextManager[None]:
        """Return what is open while a claim runs: with ``--show``, a context that notes what a function is given."""
        if not self.claims_to_run.show:
            return nullcontext()
        from checker.numeric.showing import noting_inputs

        return noting_inputs(about_of(item))
