"""Checks in threads: what they have come to is said in every case."""

import contextlib
import queue

from checker.course.steps import find_step
from checker.events import Ended
from checker.session.printer import View
from checker.session.session import Session
from cli.checking import Came, Check, ReadyChild


def test_a_check_that_breaks_says_so(monkeypatch, capsys):
    """Else who waits for it, as the page does, waits for ever."""
    came = queue.Queue()
    monkeypatch.setattr(Session, "hear", lambda self, event: 1 / 0)
    monkeypatch.setattr(Session, "open", lambda self: None)
    monkeypatch.setattr(Check, "_events", lambda self: iter([Ended()]))
    with contextlib.closing(ReadyChild()) as ready:
        monkeypatch.setattr(ready, "start_spare", lambda step: None)
        Check(Session(find_step("s07"), View()), ready, lambda check, what: came.put(what)).join()
    assert [*came.queue] == [Came.BROKEN]
    assert "ZeroDivisionError" in capsys.readouterr().err
