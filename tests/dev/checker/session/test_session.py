"""The edge of a check: what it keeps."""

import pytest

from checker.course import progress
from checker.course.steps import find_step
from checker.events import COMPILED, StageEnded
from checker.session.printer import View
from checker.session.session import Session
from checker.session.state import State
from tests.dev.checker.session.test_advance import COMPILED_TOO, PLAN, TO_COMPILE


def test_a_pass_is_a_pass_even_if_it_cannot_be_kept(course):
    """As in a checkout that is read-only, which this user may write to."""
    course.write("w01")
    (course.root / ".course").write_text("in the way")
    run = course.check("w01", status=0)
    assert "(Progress was not saved: .course/progress.json cannot be written, " in run.stdout
    assert "Pass (" in run.stdout


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
