"""Checks in threads: what they have come to is said in every case."""

import contextlib
import queue
import sys

from checker.check.check import Check
from checker.check.view import View
from checker.course.steps import find_step
from checker.events import Ended
from cli.background import BackgroundCheck, ReadyChild, Report


def test_a_check_that_breaks_says_so(monkeypatch, capsys):
    """Else who waits for it, as the page does, waits for ever."""
    reports = queue.Queue()
    monkeypatch.setattr(Check, "handle", lambda self, event: 1 / 0)
    monkeypatch.setattr(Check, "open", lambda self: None)
    monkeypatch.setattr(BackgroundCheck, "_events", lambda self: iter([Ended()]))
    view = View()
    monkeypatch.setattr(view, "close", lambda: print("closed", file=sys.stderr))
    with contextlib.closing(ReadyChild()) as ready:
        monkeypatch.setattr(ready, "start_spare", lambda step: None)
        check = BackgroundCheck(Check(find_step("s07"), view), ready, lambda check, what: reports.put(what))
        check.start()
        check.join()
    assert [*reports.queue] == [Report.BROKEN]
    printed = capsys.readouterr().err
    assert printed.startswith("closed\n"), "no line moves below what is printed"
    assert "ZeroDivisionError" in printed
