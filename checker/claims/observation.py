"""Run the claims of a step on one subject or many, in one pytest session, and keep what they say."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from types import ModuleType

import numpy as np
import pytest

from checker.claims.vocabulary import Refusal
from checker.course.steps import Step, uses_max
from checker.diagnosis.exceptions import error_in_words
from checker.diagnosis.inputs import inputs_of
from checker.diagnosis.locating import place_in, where_in_words
from checker.diagnosis.mistakes import Outcome
from checker.diagnosis.sketches import sketch
from checker.events import Claimed, Event, Started

Tell = Callable[[Event], None]
Load = Callable[[Collection[str]], Mapping[str, ModuleType]]  # the modules of the claims -> the subjects by name

UNUSED_PLUGINS = (
    "terminal",
    "cacheprovider",
    "logging",
    "faulthandler",
    "unraisableexception",
    "threadexception",
    "legacypath",
    "junitxml",
    "pastebin",
    "setuponly",
    "setupplan",
    "stepwise",
    "unittest",
)

SUBJECTS = pytest.StashKey[dict[str, ModuleType]]()
ANSWER = pytest.StashKey[ModuleType]()

NUMBERS, DRAWN, COMPILED = "numbers", "drawn", "compiled"  # the kinds of claims; the last two are pytest markers


@dataclass(frozen=True)
class Draws:
    """Configurations to draw, one from each of ``seeds``, and the solution, whose numbers are the right ones."""

    answer: ModuleType
    seeds: Sequence[int]


def observe(
    step: Step,
    subjects: Mapping[str, ModuleType] | Collection[str],
    claims: Collection[str] | Mapping[str, Collection[str]] | None = None,
    *,
    compiled: bool = False,
    draws: Draws | None = None,
    traced: type[Exception] | None = None,
    device: str | None = None,
    show: bool = False,
    gone: Collection[str] = (),
    tell: Tell | None = None,
    load: Load | None = None,
) -> dict[str, dict[str, Outcome]]:
    """Run the claims of ``step`` on every subject, in one pytest session of this process.

    Args:
        step: whose claims.
        subjects: the modules to grade by name, or only their names where they are loaded later.
        claims: the claims to run, of all subjects or by subject; all where it is None.
        compiled: run the compiled claims instead of those about numbers.
        draws: run the claims about another configuration instead, once for every seed.
        traced: the exception that ends a compiled claim where MAX would begin to compile; its outcome is then
        ``traced``, and is not reported.
        device: compile for this device alone.
        show: with arrays that were not equal, keep what the learner's code was given.
        gone: the functions with a blank that the subjects do not have; what needs one of them waits for it.
        tell: called with an event when a claim starts and when it ends.
        load: loads the subjects, after the claims are imported and before the first one runs.

    Returns:
        For every subject, the outcomes by claim, in the order of the check.
    """
    tell = tell or (lambda event: None)
    kind = COMPILED if compiled else DRAWN if draws else NUMBERS
    observer = Observer(
        subjects, claims, kind, draws, traced, None if compiled else eagerly_for(step), show, gone, tell, load
    )
    options = ["--capture=no", *(option for plugin in UNUSED_PLUGINS for option in ("-p", f"no:{plugin}"))]
    tests = str(step.check_file.parent)  # without a limit, pytest reads every folder from the root of the disk down
    options += ["-c", os.devnull, "--rootdir", tests, "--confcutdir", tests]
    options += ["-p", "checker.claims.plugin", "--assert=plain", "--disable-plugin-autoload"]
    options += ["--device", device] if device else []
    for told in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):  # set by a user, for tests of their own
        os.environ.pop(told, None)
    with tempfile.TemporaryDirectory() as folder:  # else pytest spends seconds removing other sessions'
        pytest.main([*options, "--basetemp", f"{folder}/claims", str(step.check_file)], plugins=[observer])
    return observer.outcomes


def eagerly_for(step: Step) -> Callable[[], AbstractContextManager[None]] | None:
    """Return the context in which MAX runs every operation at once, if the step uses MAX."""
    if not uses_max(step):
        return None
    from checker.max_adapter.runtime import eagerly

    return eagerly


@dataclass
class Observer:
    """A pytest plugin: puts the subjects in place of ``step`` and keeps what each claim says of them."""

    subjects: Mapping[str, ModuleType] | Collection[str]
    claims: Collection[str] | Mapping[str, Collection[str]] | None
    kind: str
    draws: Draws | None
    traced: type[Exception] | None
    eagerly: Callable[[], AbstractContextManager[None]] | None
    show: bool
    gone: Collection[str]
    tell: Tell
    load: Load | None
    outcomes: dict[str, dict[str, Outcome]] = field(default_factory=dict)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrize every claim with the subjects."""
        if "step" in metafunc.fixturenames:
            metafunc.parametrize("step", list(self.subjects), scope="module", indirect=True)
        if self.draws and "draw" in metafunc.fixturenames:
            metafunc.parametrize("draw", self.draws.seeds, indirect=True)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the claims that were asked for."""

        def wanted(item: pytest.Item) -> bool:
            claims = self.claims.get(subject_of(item), ()) if isinstance(self.claims, Mapping) else self.claims
            return kind_of(item) == self.kind and (claims is None or claim_of(item) in claims)

        items[:] = [item for item in items if wanted(item)]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Load the subjects, now that the claims hold the objects that decide."""
        if self.load:
            self.subjects = self.load({item.module.__name__ for item in session.items})  # type: ignore[attr-defined]
        elif not isinstance(self.subjects, Mapping):
            self.subjects = {}
        session.config.stash[SUBJECTS] = dict(self.subjects)
        if self.draws:
            session.config.stash[ANSWER] = self.draws.answer
        session.items[:] = [item for item in session.items if subject_of(item) in self.subjects]
        self.outcomes = {name: {} for name in self.subjects}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Report which claim comes next, and for which subject."""
        self.tell(Started(sentence_of(item), subject_of(item)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport:
        """Keep the outcome, and report it."""
        if call.when == "call" or (call.when == "setup" and call.excinfo is not None):
            name = subject_of(item)
            path = self.subjects[name].__file__ or ""  # type: ignore[index]
            failure = self._from_its_line(item, call.excinfo, path)
            outcome = outcome_of(item, failure, path, self.gone)
            if call.excinfo and failure is not call.excinfo:  # naming compares what either way of running says
                outcome = replace(outcome, observed=f"{call.excinfo.typename}: {call.excinfo.value}")
            if outcome.verdict == "no" and self.kind == DRAWN:
                outcome = replace(outcome, sentence=f"{drawn_by(item)} {outcome.sentence}")
            if outcome.verdict == "no" and (blank := self._known_to_fail(name, outcome, call, path)):
                outcome = Outcome("waits", f"waits until {blank} works", about=outcome.about)
            if self.show and outcome.compared and call.excinfo:
                inputs = inputs_of(item.function, call.excinfo.tb)  # type: ignore[attr-defined]
                outcome = replace(outcome, compared=replace(outcome.compared, inputs=inputs))
            if self.traced and call.excinfo is not None and call.excinfo.errisinstance(self.traced):
                outcome = Outcome("traced", about=outcome.about)
            claim = claim_of(item)
            self.outcomes[name][claim] = outcome
            if outcome.verdict != "traced":
                said = (outcome.about, sentence_of(item), outcome.verdict, outcome.sentence, outcome.where)
                self.tell(Claimed(claim, *said))
        # pytest's own report would format the traceback, which takes longer than the claim.
        assert call.when != "collect"
        return pytest.TestReport(
            item.nodeid, item.location, {}, "failed" if call.excinfo else "passed", None, call.when
        )

    def _from_its_line(
        self, item: pytest.Item, failure: pytest.ExceptionInfo[BaseException] | None, path: str
    ) -> pytest.ExceptionInfo[BaseException] | None:
        """Return a failure, found again with every operation of MAX run at once if it came from no line of the file."""
        if failure is None or self.eagerly is None or isinstance(failure.value, Refusal | NotImplementedError):
            return failure
        if place_in(failure.value, path)[1]:
            return failure
        if draw := item.funcargs.get("draw"):  # type: ignore[attr-defined]
            draw.start_over()
        with self.eagerly():
            again = pytest.CallInfo.from_call(item.runtest, "call").excinfo
        return again if again and place_in(again.value, path)[1] else failure

    def _known_to_fail(self, subject: str, outcome: Outcome, call: pytest.CallInfo[None], path: str) -> str:
        """Return the other blank that a claim failed in, if a claim about that one says no: one no is enough."""
        assert call.excinfo is not None
        error = call.excinfo.value
        blank = "__init__" if getattr(error, "while_constructing", False) else place_in(error, path)[0]
        said = self.outcomes[subject].values()
        known = blank != outcome.about and any(other.about == blank and other.verdict == "no" for other in said)
        return blank if known else ""


def subject_of(item: pytest.Item) -> str:
    """Return the name of the subject that a claim runs on."""
    return item.callspec.params["step"]  # type: ignore[attr-defined]


def claim_of(item: pytest.Item) -> str:
    """Return the name of a claim: its function's name and its parameters, except for the subject."""
    parameters = getattr(item, "callspec", None)
    values = [str(value) for name, value in parameters.params.items() if name != "step"] if parameters else []
    return item.originalname + (f"[{'-'.join(values)}]" if values else "")  # type: ignore[attr-defined]


def kind_of(item: pytest.Item) -> str:
    """Return the kind of a claim."""
    return next((kind for kind in (COMPILED, DRAWN) if item.get_closest_marker(kind)), NUMBERS)


def drawn_by(item: pytest.Item) -> str:
    """Say what a claim about another configuration has drawn."""
    draw = item.funcargs.get("draw")  # type: ignore[attr-defined]
    words = draw.words if draw else ""
    return f"It is right with the recorded numbers, but not with others{f' ({words})' if words else ''}."


def sentence_of(item: pytest.Item) -> str:
    """Return the claim in words: the first line of its docstring."""
    return (item.function.__doc__ or item.name).strip().splitlines()[0]  # type: ignore[attr-defined]


def outcome_of(
    item: pytest.Item, failure: pytest.ExceptionInfo[BaseException] | None, path: str, gone: Collection[str] = ()
) -> Outcome:
    """Return the outcome of a claim that has just run.

    Args:
        item: the claim.
        failure: what it raised.
        path: the graded file, whose lines are shown.
        gone: the functions with a blank that this file does not have.
    """
    about = getattr(item.function, "about", "")  # type: ignore[attr-defined]
    if failure is None:
        return Outcome("yes", about=about)
    error = failure.value
    if isinstance(error, Refusal):
        observed = error.observed
        if isinstance(observed, np.ndarray):
            observed = sketch(observed)
        elif not isinstance(observed, str):
            observed = repr(observed)
        where = where_in_words(error.__cause__, path, error.wanted) if error.__cause__ else ""
        return Outcome("no", error.sentence, where, observed, about, error.compared)
    function, _ = place_in(error, path)
    if isinstance(error, NotImplementedError) and function:
        return Outcome("waits", f"waits until {function} is written", about=about)
    if isinstance(error, NameError | AttributeError) and error.name in gone:
        return Outcome("waits", f"waits until {error.name} is written", about=about)
    return Outcome(
        "no",
        error_in_words(error),
        where_in_words(error, path),
        observed=f"{type(error).__name__}: {error}",
        about=about,
    )
