"""The pytest plugin that makes an outcome of each claim, and reports it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checker.child.claim_errors import fault_of_check, outcome_of
from checker.child.rerun import error_at_its_line
from checker.child.selection import ClaimsToRun, Runner, about_of, claim_of, subject_of
from checker.claims.vocabulary import Refusal
from checker.course.check_file import uses_max
from checker.device import DeviceKind
from checker.diagnosis.frames import passed_through
from checker.outcomes import Outcome, raised_error
from checker.protocol import events
from checker.protocol.events import Send
from checker.stages import Mark, Stage

FIXTURES = str(Path(__file__).with_name("fixtures.py"))  # whose errors are none of the learner's


class Reporter:
    """Reports the outcome of each claim.

    Args:
        claims_to_run: which claims.
        runner: knows which claims were only traced.
        send: called with an event when a claim starts and when it ends.

    Attributes:
        outcomes: the outcomes so far, by subject and claim.
        current: the claim that runs.
    """

    def __init__(self, claims_to_run: ClaimsToRun, runner: Runner, send: Send) -> None:
        self.claims_to_run, self.runner, self.send = claims_to_run, runner, send
        self.outcomes: dict[str, dict[str, Outcome]] = {name: {} for name in claims_to_run.subjects}
        self.current: pytest.Function | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Function) -> None:
        """Report which claim comes next, and for which subject."""
        self.current = item
        self.send(events.ClaimBegan(sentence_of(item), subject_of(item)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Function, call: pytest.CallInfo[None]) -> pytest.TestReport:
        """Report the outcome; return a report for pytest's ``tmp_path``, which reads whether the claim has passed.

        The report that pytest would make formats the traceback, which takes longer than the claim.
        """
        error = call.excinfo.value if call.excinfo else None
        if call.when == "setup" and error is not None and passed_through(error, FIXTURES):
            self.send(events.CheckFailed(fault_of_check(error)))
        elif call.when == "call" or (call.when == "setup" and error is not None):
            self.report(item, error)
        assert call.when != "collect"
        return pytest.TestReport(
            item.nodeid, item.location, {}, "failed" if call.excinfo else "passed", None, call.when
        )

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Report the outcome of a claim in which the learner's code raised an exception that ends pytest."""
        if self.current:
            self.report(self.current, excinfo.value)

    def report(self, item: pytest.Function, error: BaseException | None) -> None:
        """Keep and send the outcome of a claim that has just run, and has maybe raised an error."""
        name, claim = subject_of(item), claim_of(item)
        outcome = self.outcome(item, error)
        self.outcomes[name][claim] = outcome
        sentence, foreseen = sentence_of(item), outcome.foreseen
        self.send(events.ClaimEnded(claim, outcome.about, sentence, outcome.mark, outcome.why, foreseen))

    def outcome(self, item: pytest.Function, error: BaseException | None) -> Outcome:
        """Return the outcome of a claim that has raised an error, or none."""
        if error is not None:
            return self.outcome_with(item, error)
        is_traced = item.nodeid in self.runner.abandoned_graphs
        return Outcome(Mark.TRACED if is_traced else Mark.PASS, about=about_of(item))

    def outcome_with(self, item: pytest.Function, error: BaseException) -> Outcome:
        """Return the outcome of a claim that has raised an error: it fails, or waits."""
        path = self.claims_to_run.subjects[subject_of(item)].__file__ or ""
        located_error = error
        if self.may_be_of_lazy_operation(error, path):
            located_error = error_at_its_line(item, error, path)
        outcome = outcome_of(located_error, path, about_of(item), self.claims_to_run.to_write)
        if located_error is not error:  # a mistake is found by what either way of running says
            outcome = replace(outcome, observation=raised_error(error))
        if outcome.mark is Mark.FAIL and self.claims_to_run.stage is Stage.DRAWN:
            outcome = replace(outcome, reason=f"{recorded_numbers_are_right(item)} {outcome.reason}")
        return outcome

    def may_be_of_lazy_operation(self, error: BaseException, path: str) -> bool:
        """Return whether MAX may have raised an error for an operation in the file that it computed only later."""
        is_computed = uses_max(self.claims_to_run.step) and self.claims_to_run.stage in (Stage.NUMBERS, Stage.DRAWN)
        return is_computed and not isinstance(error, Refusal | NotImplementedError) and not passed_through(error, path)


def sentence_of(item: pytest.Function) -> str:
    """Return the claim in words: the first line of its docstring, and what it means on a GPU."""
    sentence = (item.function.__doc__ or item.name).strip().splitlines()[0]
    if item.callspec.params.get("device") is not DeviceKind.GPU:
        return sentence
    from checker.max_adapter.runtime import uses_tf32

    share = " to the share that TF32 allows" if uses_tf32(DeviceKind.GPU) else ""
    return f"{sentence.rstrip('.')}, on this GPU{share}."


def recorded_numbers_are_right(item: pytest.Function) -> str:
    """Return the sentence that comes first if a drawn claim fails: with the recorded numbers, the file is right."""
    draw: Any = item.funcargs.get("draw")
    others = f"others ({draw.words})" if draw and draw.words else "others"
    return f"It is right with the recorded numbers, but not with {others}."
