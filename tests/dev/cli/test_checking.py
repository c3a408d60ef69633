"""Checks in threads: what they have come to is said in every case, and what passed is kept before it is shown."""

import contextlib
import queue

import pytest

from checker.course import progress
from checker.course.steps import find_step
from checker.events import COMPILED, Ended, StageEnded
from checker.session.printer import View
from checker.session.session import Session
from checker.session.state import State
from cli.checking import Came, Check, ReadyChild
from tests.dev.checker.session.test_advance import COMPILED_TOO, PLAN, TO_COMPILE


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


def test_a_pass_is_kept_although_ctrl_c_comes_while_it_is_shown(monkeypatch):
    class Interrupted(View):
        def show(self, item):
            if "Pass (" in getattr(item, "text", ""):
                raise KeyboardInterrupt

    kept = []
    monkeypatch.setattr(progress, "note_pass", lambda step, source, compiled: kept.append(compiled))
    session = Session(find_step("s07"), Interrupted())
    session.state = State(PLAN)
    for event in (*TO_COMPILE, COMPILED_TOO):
        session.hear(event)
    assert kept == [False]
    with pytest.raises(KeyboardInterrupt):
        session.hear(StageEnded(COMPILED))
    assert kept == [False, True]
