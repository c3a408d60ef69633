"""Checks in threads: what they have come to is said in every case."""

import contextlib
import queue
import sys
from unittest.mock import MagicMock

from checker.check.check import Check
from checker.check.view import View
from checker.course.steps import find_step
from checker.events import Busy, Ended
from cli.background import BackgroundCheck, ReadyChild, Report


def reports_of(monkeypatch, handle):
    """Carry out a check of two events, each of which ``handle`` takes in; return what it has reported."""
    reports, view = queue.Queue(), View()
    monkeypatch.setattr(Check, "open", lambda self: "a job")
    monkeypatch.setattr(view, "close", lambda: print("closed", file=sys.stderr))
    with contextlib.closing(ReadyChild()) as ready:
        monkeypatch.setattr(ready, "start_spare", lambda step: None)
        child = MagicMock()
        child.__enter__.return_value.run.return_value = [Busy(), Ended()]
        monkeypatch.setattr(ready, "take", lambda step: child)
        check = BackgroundCheck(Check(find_step("s07"), view), ready, lambda check, what: reports.put(what))
        monkeypatch.setattr(check.check, "handle", lambda event: handle(check, event))
        check.start()
        check.join()
    return [*reports.queue]


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
