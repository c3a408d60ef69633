"""Checks in threads: what they have come to is said in every case."""

import contextlib
import queue
import sys
from dataclasses import replace
from unittest.mock import MagicMock

import pytest

from checker.course.steps import find_step
from checker.parent.check import Check
from checker.parent.state import State
from checker.parent.view import View
from checker.protocol.events import Busy, Ended, Reason, StageEnded
from checker.stages import Mark, Stage
from cli.shared.background import BackgroundCheck, ReadyChild, Report
from tests.dev.helpers.checks import DRAWN_TOO, NUMBERS_RIGHT, S07, TO_COMPILE

TWO_EVENTS = (Busy(), Ended())


def reports_of(monkeypatch, handle, said=TWO_EVENTS, start_spare=lambda step: None):
    """Carry out a check of what a child has said, which ``handle`` takes in; return what it has reported."""
    reports, view = queue.Queue(), View()
    monkeypatch.setattr(Check, "open", lambda self: "a job")
    monkeypatch.setattr(view, "close", lambda: print("closed", file=sys.stderr))
    with contextlib.closing(ReadyChild()) as ready:
        monkeypatch.setattr(ready, "start_spare", start_spare)
        child = MagicMock()
        child.run.return_value = said
        monkeypatch.setattr(ready, "take", lambda step: child)
        edge = Check(find_step("s07"), view, offers=S07.offers, save=lambda made, source: None)
        edge.state = State(S07)
        check = BackgroundCheck(edge, ready, lambda check, what: reports.put(what))
        monkeypatch.setattr(check.check, "handle", lambda event: handle(check, event))
        check.start()
        check.join()
    return [*reports.queue]


WRONG_NUMBERS = replace(DRAWN_TOO, mark=Mark.FAIL, why=Reason("It is off."))

#: What a child says -> the event after which the next child is started.
NEXT_CHILD = {
    "this child only compiles now": ([*TO_COMPILE, Ended()], StageEnded(Stage.DRAWN)),
    "it explains a failure": ([*NUMBERS_RIGHT[:4], WRONG_NUMBERS, StageEnded(Stage.DRAWN), Ended()], Ended()),
}


@pytest.mark.parametrize(("said", "started_after"), NEXT_CHILD.values(), ids=NEXT_CHILD)
def test_the_next_child_takes_no_core_from_one_that_the_learner_waits_for(monkeypatch, said, started_after):
    handled, started = [], []

    def handle(background, event):
        handled.append(event)
        Check.handle(background.check, event)

    reports_of(monkeypatch, handle, said, start_spare=lambda step: started.append(handled[-1]))
    assert started[0] == started_after


def test_a_check_that_breaks_says_so(monkeypatch, capsys):
    """Else who waits for it, as the page does, waits for ever."""
    assert reports_of(monkeypatch, lambda check, event: 1 / 0) == [Report.BROKEN]
    printed = capsys.readouterr().err
    assert printed.startswith("closed\n"), "no line moves below what is printed"
    assert "ZeroDivisionError" in printed


def test_nothing_that_comes_after_a_check_is_canceled_is_handled(monkeypatch, capsys):
    handled = []

    def cancel(check, event):
        handled.append(event)
        check.cancel()

    assert reports_of(monkeypatch, cancel) == [Report.CANCELED]
    assert handled == [Busy()]
    assert capsys.readouterr().err == "closed\n"
