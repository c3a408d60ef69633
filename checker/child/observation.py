"""Run the claims of a step on one subject or many, in one pytest session, and record what they say.

A trick, ``plugins``: those of pytest's that would take what a learner's file prints, logs or raises are off.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from checker import events
from checker.child.claim_errors import fault_of_check, outcome_of
from checker.claims.vocabulary import Refusal
from checker.course.languages import NotWritten
from checker.course.steps import Step, claims_of, uses_max
from checker.device import DeviceKind
from checker.diagnosis.frames import passed_through
from checker.events import FromChild, Mark, Stage
from checker.max_adapter.tracing import AbandonedGraphError, GraphMode, in_mode
from checker.outcomes import Outcome, raised_error

if TYPE_CHECKING:  # a step without MAX does not import it
    from max.graph import Graph

Send = Callable[[FromChild], None]


def unheard(event: FromChild) -> None:
    """Send an event to nobody."""


#: Of pytest's: they print, write files beside the claims, or take what a learner's file logs, raises or crashes with.
UNUSED_PLUGINS = (
    *("terminal", "cacheprovider", "debugging", "logging", "faulthandler", "unraisableexception", "threadexception"),
)

FIXTURES = str(Path(__file__).with_name("fixtures.py"))  # whose errors are none of the learner's
SUBJECTS = pytest.StashKey[Mapping[str, ModuleType]]()


@dataclass(frozen=True)
class ClaimsToRun:
    """Which claims are to be run, and on what.

    Attributes:
        step: whose claims.
        subjects: the modules that are graded, by name.
        stage: which claims are tried, and whether they go on to where MAX would compile or to their end.
        seeds: of the configurations that the drawn claims are about; they are run once for each.
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


def run_claims(claims_to_run: ClaimsToRun, send: Send = unheard) -> dict[str, dict[str, Outcome]]:
    """Run claims; return for each subject what they said, in the order of the check.

    Args:
        claims_to_run: which.
        send: called with an event when a claim starts and when it ends.
    """
    recorder = Recorder(claims_to_run, send)
    run_pytest(claims_to_run, recorder)
    return recorder.outcomes


def collect_graphs(step: Step, subjects: Mapping[str, ModuleType]) -> list[Graph]:
    """Run the compiled claims up to where MAX would compile for the CPU; return the graphs that it would compile."""
    claims_to_run = ClaimsToRun(step, subjects, Stage.TRACING, device=DeviceKind.CPU, mode=GraphMode.COLLECT)
    recorder = Recorder(claims_to_run, unheard)
    run_pytest(claims_to_run, recorder)
    return recorder.graphs


def run_pytest(claims_to_run: ClaimsToRun, recorder: Recorder) -> None:
    """Run claims in one pytest session of this process."""
    options = ["--capture=no"]
    for plugin in UNUSED_PLUGINS:
        options += ["-p", f"no:{plugin}"]
    # Without a limit, pytest reads every folder from the root of the disk.
    tests = str(claims_to_run.step.check_file.parent)
    options += ["-c", os.devnull, "--rootdir", tests, "--confcutdir", tests]
    options += ["-p", "checker.child.fixtures", "--assert=plain", "--disable-plugin-autoload"]
    options += ["--device", claims_to_run.device] if claims_to_run.device else []
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):  # set by a user, for tests of their own
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory() as folder:  # else pytest spends seconds on old folders
        options += ["--basetemp", f"{folder}/claims", str(claims_to_run.step.check_file)]
        pytest.main(options, plugins=[Selection(claims_to_run), recorder])


class Selection:
    """The plugin of pytest's that leaves only the claims that were asked for, and hands them the subjects."""

    def __init__(self, claims_to_run: ClaimsToRun) -> None:
        self.claims_to_run, self.kinds = claims_to_run, claims_of(claims_to_run.step)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrize every claim with the subjects."""
        if "step" in metafunc.fixturenames:
            metafunc.parametrize("step", list(self.claims_to_run.subjects), scope="module", indirect=True)
        if self.claims_to_run.seeds and "draw" in metafunc.fixturenames:
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


class Recorder:
    """The plugin of pytest's that runs each claim as far as its stage goes, and records what it said.

    Args:
        claims_to_run: which.
        send: is given an event when a claim starts and when it ends.

    Attributes:
        outcomes: for each subject, those of the claims so far.
        graphs: those that were abandoned, of all claims so far.
        running: the claim that runs.
        abandoned_graph: the one at which that claim has ended, since MAX was not to compile it, if it has.
    """

    def __init__(self, claims_to_run: ClaimsToRun, send: Send) -> None:
        self.claims_to_run, self.send = claims_to_run, send
        self.outcomes: dict[str, dict[str, Outcome]] = {name: {} for name in claims_to_run.subjects}
        self.graphs: list[Graph] = []
        self.running: pytest.Function | None = None
        self.abandoned_graph: Graph | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Function) -> None:
        """Report which claim comes next, and for which subject."""
        self.running = item
        self.abandoned_graph = None
        self.send(events.ClaimBegan(sentence_of(item), subject_of(item)))

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[None]:
        """Have pytest run a claim, to its end or, while tracing, up to where MAX would compile, which is no error.

        With ``--show``, what it gives to the learner's function is noted.
        """
        tracing: AbstractContextManager[None] = nullcontext()
        noting: AbstractContextManager[None] = nullcontext()
        if self.claims_to_run.stage == Stage.TRACING:
            tracing = in_mode(self.claims_to_run.mode)
        if self.claims_to_run.show:
            from checker.numeric.showing import noting_inputs

            noting = noting_inputs(about_of(pyfuncitem))
        with tracing, noting:
            try:
                return (yield)
            except AbandonedGraphError as error:
                self.abandoned_graph = error.graph  # so its outcome is that it is traced
                return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Function, call: pytest.CallInfo[None]) -> pytest.TestReport:
        """Record the outcome; pytest's own report would format the traceback, which takes longer than the claim."""
        if call.when == "setup" and call.excinfo and passed_through(call.excinfo.value, FIXTURES):
            self.send(events.CheckFailed(fault_of_check(call.excinfo.value)))
        elif call.when == "call" or (call.when == "setup" and call.excinfo is not None):
            self.record(item, call.excinfo)
        assert call.when != "collect"
        return pytest.TestReport(
            item.nodeid, item.location, {}, "failed" if call.excinfo else "passed", None, call.when
        )

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Record the outcome of a claim in which the learner's code raised what ends pytest."""
        if self.running:
            self.record(self.running, excinfo)

    def record(self, item: pytest.Function, failure: pytest.ExceptionInfo[BaseException] | None) -> None:
        """Record the outcome of a claim that has just run, and report it."""
        name, claim = subject_of(item), claim_of(item)
        outcome = self.outcome(item, failure)
        self.outcomes[name][claim] = outcome
        if self.abandoned_graph is not None:
            self.graphs.append(self.abandoned_graph)
        event = events.ClaimEnded(
            claim,
            outcome.about,
            sentence_of(item),
            outcome.mark,
            reason=outcome.sentence,
            location=outcome.location,
            foreseen=outcome.foreseen,
            error_key=outcome.error_key if outcome.mark == Mark.FAIL else "",
            has_numbers=outcome.comparison is not None,
            of_max=outcome.of_max,
        )
        self.send(event)

    def outcome(self, item: pytest.Function, failure: pytest.ExceptionInfo[BaseException] | None) -> Outcome:
        """Return the outcome of a claim that ended with this ``failure``, if any."""
        about = about_of(item)
        if failure is None:
            return Outcome(Mark.PASS if self.abandoned_graph is None else Mark.TRACED, about=about)
        path = self.claims_to_run.subjects[subject_of(item)].__file__ or ""
        cause = failure
        if self.may_be_late(failure.value, path):
            from checker.child.rerun import from_its_line  # most claims raise no error

            cause = from_its_line(item, failure, path)
        outcome = outcome_of(cause.value, path, about, self.claims_to_run.to_write)
        if cause is not failure:  # a mistake is found by what either way of running says
            outcome = replace(outcome, observation=raised_error(failure.value))
        if outcome.mark == Mark.FAIL and self.claims_to_run.stage == Stage.DRAWN:
            outcome = replace(outcome, sentence=f"{right_if_recorded(item)} {outcome.sentence}")
        return outcome

    def may_be_late(self, error: BaseException, path: str) -> bool:
        """Return whether an error may be MAX's, of an operation in the file that was computed only later."""
        is_computed = uses_max(self.claims_to_run.step) and self.claims_to_run.stage in (Stage.NUMBERS, Stage.DRAWN)
        return is_computed and not isinstance(error, Refusal | NotWritten) and not passed_through(error, path)


def right_if_recorded(item: pytest.Function) -> str:
    """Return what is said first of a claim that fails on what it has drawn: the recorded numbers were right."""
    draw: Any = item.funcargs.get("draw")
    others = f"others ({draw.words})" if draw and draw.words else "others"
    return f"It is right with the recorded numbers, but not with {others}."


def subject_of(item: pytest.Function) -> str:
    """Return the name of the subject that a claim runs on."""
    return str(item.callspec.params["step"])


def about_of(item: pytest.Function) -> str:
    """Return the label of the function that a claim is about."""
    return getattr(item.function, "about", "")


def claim_of(item: pytest.Function) -> str:
    """Return the name of a claim: its function's name and its parameters, except for the subject."""
    values = [str(value) for name, value in item.callspec.params.items() if name != "step"]
    return item.originalname + (f"[{'-'.join(values)}]" if values else "")


def sentence_of(item: pytest.Function) -> str:
    """Return the claim in words: the first line of its docstring, and what it means on a GPU."""
    sentence = (item.function.__doc__ or item.name).strip().splitlines()[0]
    if item.callspec.params.get("device") is not DeviceKind.GPU:
        return sentence
    from checker.max_adapter.runtime import uses_tf32

    share = " to the share that TF32 allows" if uses_tf32(DeviceKind.GPU) else ""
    return f"{sentence.rstrip('.')}, on this GPU{share}."
