"""Say which claims run, on which subjects, and how far each goes, by two plugins of pytest's.

They read what pytest's item of a claim says: its subject, its name, and the function that it is about.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from checker.course.check_file import claims_of
from checker.course.steps import Step
from checker.device import DeviceKind
from checker.max_adapter.tracing import AbandonedGraphError, GraphMode, in_mode
from checker.stages import Stage

if TYPE_CHECKING:  # a step without MAX does not import it
    from max.graph import Graph

SUBJECTS = pytest.StashKey[Mapping[str, ModuleType]]()


def subject_of(item: pytest.Function) -> str:
    """Return the name of the subject that a claim runs on."""
    return str(item.callspec.params["subject"])


def about_of(item: pytest.Function) -> str:
    """Return the label of the function that a claim is about."""
    return getattr(item.function, "about", "")


def claim_of(item: pytest.Function) -> str:
    """Return the name of a claim: its function's name and its parameters, except for the subject."""
    values = [str(value) for name, value in item.callspec.params.items() if name != "subject"]
    return item.originalname + (f"[{'-'.join(values)}]" if values else "")


@dataclass(frozen=True)
class ClaimsToRun:
    """Which claims are to be run, and on which subjects.

    Attributes:
        step: the step of the claims.
        subjects: the modules that are checked, by name.
        stage: decides which kind of claims is tried, and whether they stop where MAX would compile.
        seeds: the seeds of the configurations at the stage DRAWN; each claim runs once for each seed.
        only: the names of the only claims to run, by subject; None is all.
        device: compile for this device alone.
        notes_inputs: note the inputs of the learner's code with arrays that are not equal.
        to_write: the labels of the functions that the subjects have yet to write; a claim that needs one waits.
    """

    step: Step
    subjects: Mapping[str, ModuleType]
    stage: Stage = Stage.NUMBERS
    seeds: Sequence[int] = ()
    only: Mapping[str, Collection[str]] | None = None
    device: DeviceKind | None = None
    notes_inputs: bool = False
    to_write: Collection[str] = ()


class Selection:
    """Drops the claims that were not asked for, and hands the others the subjects."""

    def __init__(self, claims_to_run: ClaimsToRun) -> None:
        self.claims_to_run, self.kinds = claims_to_run, claims_of(claims_to_run.step)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrize every claim with the subjects."""
        if "subject" in metafunc.fixturenames:
            metafunc.parametrize("subject", list(self.claims_to_run.subjects), scope="module", indirect=True)
        if self.claims_to_run.stage is Stage.DRAWN and "draw" in metafunc.fixturenames:
            metafunc.parametrize("draw", self.claims_to_run.seeds, indirect=True)

    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        """Drop the claims that were not asked for."""
        items[:] = [item for item in items if self.is_asked_for(item)]

    def is_asked_for(self, item: pytest.Function) -> bool:
        """Return whether a claim is of the stage's kind, and among the claims to run."""
        stage, only = self.claims_to_run.stage, self.claims_to_run.only
        if self.kinds[item.originalname] != stage.kind:
            return False
        if stage is Stage.ON_GPU and "device" not in item.fixturenames:
            return False
        return only is None or claim_of(item) in only.get(subject_of(item), ())

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Hand the subjects to the fixture; without any, no claim runs."""
        session.config.stash[SUBJECTS] = self.claims_to_run.subjects
        if not self.claims_to_run.subjects:
            session.items.clear()


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
        """Return what is open while a claim runs: a context that notes what a function is given, if that is wanted."""
        if not self.claims_to_run.notes_inputs:
            return nullcontext()
        from checker.numeric.showing import noting_inputs

        return noting_inputs(about_of(item))
