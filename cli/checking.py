"""Checks in threads, for ``watch`` and the page: they can be ended, and the next one's child is started before it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from checker.course.steps import Step
from checker.events import DRAWN, Job, StageEnded
from checker.session.child import Child, limits_of
from checker.session.session import Session


class ReadyChild:
    """The child of the next check, which has imported what that needs. Several threads may ask for it."""

    def __init__(self) -> None:
        self.child: Child | None = None
        self.step: Step | None = None
        self.is_closed = False
        self.lock = threading.Lock()

    def prepare(self, step: Step) -> None:
        """Have a child get ready for a check of ``step``, which takes it a second."""
        with self.lock:
            if not self.is_closed and not self._fits(step):
                self._stop()
                self.child, self.step = Child(step), step

    def take(self, step: Step) -> Child:
        """Return a child for a check of ``step``; the caller stops it."""
        with self.lock:
            if not self._fits(step):
                self._stop()
            child, self.child = self.child or Child(), None
            return child

    def _fits(self, step: Step) -> bool:
        return self.child is not None and self.child.process.poll() is None and self.step == step

    def _stop(self) -> None:
        if self.child:
            self.child.stop()
        self.child = None

    def close(self) -> None:
        """Stop the child if nobody took it, and start no other."""
        with self.lock:
            self.is_closed = True
            self._stop()


class Check(threading.Thread):
    """A check that runs in a thread of its own.

    Args:
        session: the check, which has read the file.
        ready: its child, and then the next one's.
        tell: called in the thread, with this check: when the step has passed and only compiling is left, and when it
            is over, so that ``session`` can decide unless somebody has ended it.
        compiling: how many seconds MAX may compile one thing, if nobody may be there to end it.
    """

    def __init__(
        self, session: Session, ready: ReadyChild, tell: Callable[[Check], None], compiling: float | None = None
    ) -> None:
        super().__init__(daemon=True)
        self.session, self.ready, self.tell = session, ready, tell
        self.limits = limits_of(compiling=compiling)
        self.may_go_on = False  # the step has passed, and only compiling is left
        self.is_ended = False  # by somebody
        self.is_over = False
        self.child = ready.take(session.step) if session.job else None
        self.start()

    def run(self) -> None:
        """Carry it out."""
        try:
            if self.child and self.session.job:
                self._hear(self.child, self.session.job)
        finally:
            self.is_over = True
            self.tell(self)
        if not self.may_go_on and not self.is_ended:
            self.ready.prepare(self.session.step)

    def _hear(self, child: Child, job: Job) -> None:
        with child:
            for event in child.run(job, self.limits):
                if self.is_ended:
                    return  # a pass was kept when it was heard
                self.session.hear(event)
                if event == StageEnded(DRAWN):  # from now on this child only compiles
                    self.ready.prepare(self.session.step)
                if self.session.may_go_on and not self.may_go_on:
                    self.may_go_on = True
                    child.lower_priority()
                    self.tell(self)

    def end(self) -> None:
        """End it, from any thread."""
        self.is_ended = True
        if self.child:
            self.child.kill()
