"""Run the claims of a step on one subject or many, in one pytest session, and keep what they say."""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Mapping
from types import ModuleType

import pytest

from checker.claims.vocabulary import Refusal
from checker.course.steps import Step
from checker.diagnosis.exceptions import error_in_words
from checker.diagnosis.mistakes import Outcome

Tell = Callable[..., None]

UNUSED_PLUGINS = ("terminal", "cacheprovider", "logging", "faulthandler", "unraisableexception", "threadexception")


def observe(
    step: Step,
    subjects: Mapping[str, ModuleType],
    claims: list[str] | None = None,
    *,
    compiled: bool = False,
    device: str | None = None,
    tell: Tell | None = None,
) -> Observer:
    """Run the claims of ``step`` on every subject, in one pytest session of this process."""
    observer = Observer(subjects, claims, compiled, tell)
    options = ["--capture=no", *(option for plugin in UNUSED_PLUGINS for option in ("-p", f"no:{plugin}"))]
    options += ["-c", os.devnull, "--rootdir", str(step.check_file.parent), "-p", "checker.claims.plugin"]
    options += ["--disable-plugin-autoload", *(["--device", device] if device else [])]
    pytest.main([*options, str(step.check_file)], plugins=[observer])
    return observer


class Observer:
    """A pytest plugin: puts the subjects in place of ``step`` and keeps what each claim says of them."""

    def __init__(
        self, subjects: Mapping[str, ModuleType], claims: list[str] | None, compiled: bool, tell: Tell | None
    ) -> None:
        self.subjects = subjects
        self.claims = claims
        self.compiled = compiled
        self.tell = tell
        self.outcomes: dict[str, dict[str, Outcome]] = {name: {} for name in subjects}

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make every claim once for every subject."""
        if "step" in metafunc.fixturenames:
            metafunc.parametrize("step", list(self.subjects.values()), ids=list(self.subjects), scope="module")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the claims that were asked for."""

        def wanted(item: pytest.Item) -> bool:
            compiled = item.get_closest_marker("compiled") is not None
            return compiled == self.compiled and (self.claims is None or claim_of(item) in self.claims)

        items[:] = [item for item in items if wanted(item)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Tell which claim comes next."""
        if self.tell:
            self.tell("start", sentence=sentence_of(item))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport:
        """Keep the outcome, and tell it."""
        if call.when == "call" or (call.when == "setup" and call.excinfo is not None):
            subject = item.callspec.params["step"]  # type: ignore[attr-defined]
            name = next(name for name, module in self.subjects.items() if module is subject)
            outcome = outcome_of(item, call.excinfo, subject.__file__)
            if outcome.verdict == "no" and (blank := self._known_to_fail(name, outcome, call, subject.__file__)):
                outcome = Outcome("waits", f"waits until {blank} works", about=outcome.about)
            self.outcomes[name][claim_of(item)] = outcome
            if self.tell:
                details = {"verdict": outcome.verdict, "help": outcome.sentence, "where": outcome.where}
                self.tell("claim", claim=claim_of(item), about=outcome.about, sentence=sentence_of(item), **details)
        # pytest's own report would format the traceback, which takes longer than the claim.
        assert call.when != "collect"
        return pytest.TestReport(
            item.nodeid, item.location, {}, "failed" if call.excinfo else "passed", None, call.when
        )

    def _known_to_fail(self, subject: str, outcome: Outcome, call: pytest.CallInfo[None], path: str) -> str:
        """The other blank that a claim failed in, if a claim about that has said no already: one no is enough."""
        assert call.excinfo is not None
        while_built = any(
            entry.name == "build" for entry in call.excinfo.traceback
        )  # in checker/max_adapter/runtime.py
        blank = "__init__" if while_built else place_in(call.excinfo.value, path)[0]
        said = self.outcomes[subject].values()
        known = blank != outcome.about and any(other.about == blank and other.verdict == "no" for other in said)
        return blank if known else ""


def claim_of(item: pytest.Item) -> str:
    """The name of a claim: its function's, and its parameters' other than the subject."""
    parameters = getattr(item, "callspec", None)
    values = [str(value) for name, value in parameters.params.items() if name != "step"] if parameters else []
    return item.originalname + (f"[{'-'.join(values)}]" if values else "")  # type: ignore[attr-defined]


def sentence_of(item: pytest.Item) -> str:
    """What a claim claims: the first line of its docstring."""
    return (item.function.__doc__ or item.name).strip().splitlines()[0]  # type: ignore[attr-defined]


def outcome_of(item: pytest.Item, failure: pytest.ExceptionInfo[BaseException] | None, path: str) -> Outcome:
    """What a claim that has just run says; ``path`` is the graded file, whose lines are shown."""
    about = getattr(item.function, "about", "")  # type: ignore[attr-defined]
    if failure is None:
        return Outcome("yes", about=about)
    error = failure.value
    if isinstance(error, Refusal):
        return Outcome("no", error.sentence, observed=error.observed, about=about)
    function, line = place_in(error, path)
    if isinstance(error, NotImplementedError) and function:
        return Outcome("waits", f"waits until {function} is written", about=about)
    return Outcome(
        "no", error_in_words(error), line_in_words(path, line), observed=f"{type(error).__name__}: {error}", about=about
    )


def place_in(error: BaseException, path: str) -> tuple[str, int]:
    """The innermost function and line of the file ``path`` that an exception passed through."""
    function, line = "", 0
    trace = error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == path:
            function, line = trace.tb_frame.f_code.co_name, trace.tb_lineno
        trace = trace.tb_next
    return function, line


def line_in_words(path: str, line: int) -> str:
    """``line 57: weights = F.softmax(scores)``; nothing for line 0."""
    return f"line {line}: {linecache.getline(path, line).strip()}" if line else ""
