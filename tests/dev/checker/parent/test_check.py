"""The edge of a check: what it saves, and how it finds out which MAX is installed."""

import os
import signal
from types import SimpleNamespace

import pytest

from checker.course import progress
from checker.course.steps import find_step
from checker.parent import check as edge
from checker.parent.check import Check, context_of
from checker.parent.offers import IN_TERMINAL
from checker.parent.state import State, VerdictKind
from checker.parent.view import View
from checker.protocol.events import Ended, Interrupted
from checker.protocol.job import Options
from checker.stages import ClaimKind
from tests.dev.helpers.checks import ALL_COMPILED, COMPILED_TOO, DIED, OPENED, S07, TO_COMPILE, read_only


def check_with(view):
    """A check of the events of ``test_advance.py``."""
    check = Check(find_step("s07"), view, offers=IN_TERMINAL)
    check.state = State(S07)
    return check


def test_a_pass_is_a_pass_even_if_it_cannot_be_saved(course):
    """As in a checkout that is read-only, which this user may write to."""
    course.write("w01")
    (course.root / ".course").write_text("in the way")
    run = course.check("w01", status=0)
    assert "(Progress was not saved: .course/progress.json cannot be written, " in run.stdout
    assert "Pass (" in run.stdout


class InterruptedView(View):
    """A view in which Ctrl-C is pressed so many times when words are shown."""

    def __init__(self, words, times=1):
        super().__init__()
        self.words, self.times = words, times

    def show(self, item):
        if self.words in getattr(item, "text", ""):
            for _ in range(self.times):
                os.kill(os.getpid(), signal.SIGINT)


def run(monkeypatch, view, while_saving=lambda: None):
    """Run a check of a right file; return it, and what was saved."""
    check, saved = check_with(view), []

    def note_pass(step, source, compiled):
        while_saving()
        saved.append(compiled)
        return True

    monkeypatch.setattr(progress, "note_pass", note_pass)
    monkeypatch.setattr(check, "open", lambda: "a job")

    def say(job, is_interrupted):
        for event in [*TO_COMPILE, COMPILED_TOO, *ALL_COMPILED, Ended()]:
            if is_interrupted():
                yield Interrupted()
                return
            yield event

    check.run(SimpleNamespace(run=say))
    return check, saved


def test_a_pass_is_saved_and_shown_although_ctrl_c_comes_while_it_is_shown(monkeypatch):
    check, saved = run(monkeypatch, InterruptedView("Pass ("))
    assert saved == [False, True]
    assert check.items[-1].text.startswith("Pass (")


def test_ctrl_c_is_heard_when_what_follows_from_an_event_is_done(monkeypatch):
    check, saved = run(monkeypatch, InterruptedView("Pass: the outputs match"))
    assert saved == []
    assert check.items[-1].text.startswith("Interrupted: the outputs match so far.")


def test_a_second_ctrl_c_need_not_wait(monkeypatch):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run(monkeypatch, InterruptedView("Pass (", times=2))
    assert signal.getsignal(signal.SIGINT) == before


def test_a_pass_is_saved_once_where_ctrl_c_comes_while_it_is_saved(monkeypatch):
    check, saved = run(monkeypatch, View(), while_saving=lambda: os.kill(os.getpid(), signal.SIGINT))
    assert saved == [False]
    assert check.state.verdict.kind is VerdictKind.PASS


def edited(*arguments, **options):
    return False


@pytest.mark.parametrize(
    ("note_pass", "why"),
    [(edited, "the file has been edited since."), (read_only, ".course/progress.json cannot be written.")],
)
def test_no_pass_is_said_to_be_kept_that_is_not(monkeypatch, note_pass, why):
    monkeypatch.setattr(progress, "note_pass", note_pass)
    check = check_with(View())
    for event in [*TO_COMPILE, Interrupted()]:
        check.handle(event)
    assert check.items[-1].text == f"Interrupted while MAX was compiling your module. The pass is not kept: {why}"


def test_no_moving_line_outlives_the_child(monkeypatch):
    view, closed = View(), []
    monkeypatch.setattr(view, "close", lambda: closed.append(True))
    check = check_with(view)
    check.handle(OPENED)
    assert not closed
    check.handle(DIED)
    assert closed


def test_it_is_found_out_which_max_is_installed_if_the_claims_run_it(monkeypatch):
    monkeypatch.setattr(edge, "why_not_usable", lambda: "MAX 1 is installed.")
    steps = find_step("07"), find_step("w01")
    contexts = [context_of(step, step.learner_file, Options(), IN_TERMINAL) for step in steps]
    assert [context.why_another_max for context in contexts] == ["MAX 1 is installed.", ""]


@pytest.mark.parametrize("option", [{"compile": False}, {"show": "_attn"}, {"hunt": True}])
def test_compiled_claims_are_left_out_by_an_option_and_in_a_hunt_which_needs_none(option):
    step = find_step("07")
    context = context_of(step, step.learner_file, Options(**option), IN_TERMINAL)
    assert ClaimKind.COMPILED not in {context.kinds[claim] for claim in context.required}
    assert context.tries_every_claim == context.options.hunt
