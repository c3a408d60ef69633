"""Which claims are run, and on what: what is asked for, and the plugin of pytest's that leaves only these."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

import pytest

from checker.child.claim_items import claim_of, subject_of
from checker.course.steps import Step, claims_of
from checker.device import DeviceKind
from checker.events import Stage
from checker.max_adapter.tracing import GraphMode

SUBJECTS = pytest.StashKey[Mapping[str, ModuleType]]()


@dataclass(frozen=True)
class ClaimsToRun:
    """Which claims are to be run, and on what.

    Attributes:
        step: whose claims.
        subjects: the modules that are graded, by name.
        stage: which claims are tried, and whether they go on to where MAX would compile or to their end.
        seeds: of the configurations that are drawn at the stage DRAWN, whose claims are run once for each.
        claims: the only claims to run, by subject; None is all.
        device: compile for this device alone.
        mode: what becomes of a graph at the stage TRACING.
        show: with arrays that were not equal, record what the learner's code was given.
        to_write: the labels of the functions that the subjects have yet to write; what needs one waits for it.
    """

    step: Step
    subjects: Mapping[str, ModuleType]
    stage: Stage = Stage.NUMBERS
    seeds: Sequence[int] = ()
    claims: Mapping[str, Collection[str]] | None = None
    device: DeviceKind | None = None
    mode: GraphMode = GraphMode.TRACE
    show: bool = False
    to_write: Collection[str] = ()


class Selection:
    """Leaves only the claims that were asked for, and hands them the subjects."""

    def __init__(self, claims_to_run: ClaimsToRun) -> None:
        self.claims_to_run, self.kinds = claims_to_run, claims_of(claims_to_run.step)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrize every claim with the subjects."""
        if "step" in metafunc.fixturenames:
            metafunc.parametrize("step", list(self.claims_to_run.subjects), scope="module", indirect=True)
        if self.claims_to_run.stage == Stage.DRAWN and "draw" in metafunc.fixturenames:
            metafunc.parametrize("draw", self.claims_to_run.seeds, indirect=True)

    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        """Leave only the claims that were asked for."""
        items[:] = [item for item in items if self.is_asked_for(item)]

    def is_asked_for(self, item: pytest.Function) -> bool:
        """Return whether a claim is of the stage, and among those to run, if not all are."""
        stage, only = self.claims_to_run.stage, self.claims_to_run.claims
        if self.kinds[item.originalname] != stage.kind:
            return False
        if stage == Stage.ON_GPU and "device" not in item.fixturenames:
            return False
        return only is None or claim_of(item) in only.get(subject_of(item), ())

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Hand the subjects to the fixture; without any, no claim runs."""
        session.config.stash[SUBJECTS] = self.claims_to_run.subjects
        if not self.claims_to_run.subjects:
            session.items.clear()
