"""One check at a time, for the page: the same report as the terminal's, told record by record.

A newer check ends the older one. As in ``watch``, the child of the next check is started before there is one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from checker.course.steps import Step
from checker.events import DRAWN, StageEnded
from checker.session.child import Child
from checker.session.records import Record, Records, verdict_record
from checker.session.session import Options, Session
from cli.watch.ready import ReadyChild


class Running:
    """A check that somebody waits for; it may be ended at any time, by another thread too.

    Args:
        tell: gets its records.
    """

    def __init__(self, tell: Callable[[Record], None]) -> None:
        self.tell = tell
        self.is_ended = False
        self.may_go_on = False  # it has passed, and only compiling is left
        self.child: Child | None = None
        self.lock = threading.Lock()

    def end(self) -> None:
        """End it; the last record says so."""
        with self.lock:
            self.is_ended = True
            if self.child:
                self.child.kill()

    def leave(self) -> None:
        """End it because nobody listens any more, unless it goes on for the pass that compiling completes."""
        if not self.may_go_on:
            self.end()

    def has(self, child: Child) -> None:
        """Take note of its child, which is ended with it."""
        with self.lock:
            self.child = child
            if self.is_ended:
                child.kill()


class Checks:
    """The checks that the page asks for."""

    def __init__(self) -> None:
        self.ready = ReadyChild()
        self.getting_ready = threading.Lock()
        self.turn = threading.Lock()
        self.newest: Running | None = None
        self.is_closed = False
        self.lock = threading.Lock()

    def begin(self, tell: Callable[[Record], None]) -> Running:
        """Return a new check, and end the one before."""
        with self.lock:
            before, self.newest = self.newest, Running(tell)
        if before:
            before.end()
        return self.newest

    def prepare(self, step: Step) -> None:
        """Have a child get ready for a check of ``step``."""
        with self.getting_ready:
            if not self.is_closed:  # else nobody would end it
                self.ready.prepare(step)

    def run(self, running: Running, step: Step, show: str = "") -> None:
        """Carry a check out, and tell its records; the last holds the verdict, or says that a newer one ended it."""
        with self.turn:
            record = None if running.is_ended else self._verdict(running, step, show)
        running.tell({"event": "ended"} if running.is_ended or record is None else {"event": "verdict", **record})

    def _verdict(self, running: Running, step: Step, show: str) -> Record:
        view = Records(running.tell)
        view.again, view.stopping = "check again", "another check"
        check = Session(step, view, Options(show=show))
        if not check.job:
            self.prepare(step)
            return verdict_record(check)
        with self.getting_ready:
            child = self.ready.take(step)
        try:
            running.has(child)
            for event in child.run(check.job):
                if running.is_ended:
                    check.interrupt()  # a pass was kept when it was heard
                    return verdict_record(check)
                check.hear(event)
                if event == StageEnded(DRAWN):  # from now on this child only compiles
                    self.prepare(step)
                if check.may_go_on and not running.may_go_on:
                    running.may_go_on = True
                    child.lower_priority()
        finally:
            child.stop()
        check.conclude()
        return verdict_record(check)

    def close(self) -> None:
        """End everything."""
        if self.newest:
            self.newest.end()
        with self.turn, self.getting_ready:
            self.is_closed = True
            self.ready.close()
