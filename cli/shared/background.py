"""Checks in the background, for ``watch`` and the page: each can be canceled, and the next child is started ahead."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from contextlib import closing
from enum import Enum, auto

from checker.course.steps import Step
from checker.parent.check import Check
from checker.parent.child_process import Child
from checker.parent.limits import limits_of
from checker.parent.state import Phase
from checker.protocol.events import StageEnded
from checker.protocol.job import Job
from checker.stages import Stage


class ReadyChild:
    """The child of the next check, which has imported what the check needs. Several threads may ask for it."""

    def __init__(self) -> None:
        self.child: Child | None = None
        self.step: Step | None = None
        self.is_closed = False
        self.lock = threading.Lock()

    def start_spare(self, step: Step) -> None:
        """Have a child get ready for a check of ``step``, which takes a second."""
        with self.lock:
            if not self.is_closed and not self._is_ready_for(step):
                self._stop()
                self.child, self.step = Child(step), step

    def take(self, step: Step) -> Child:
        """Return a child for a check of ``step``; the caller stops it."""
        with self.lock:
            if not self._is_ready_for(step):
                self._stop()
            child, self.child = self.child or Child(), None
            return child

    def _is_ready_for(self, step: Step) -> bool:
        """Return whether there is a child, alive, for a check of ``step``."""
        return self.child is not None and self.child.process.is_alive and self.step == step

    def _stop(self) -> None:
        """Stop the child, if there is one."""
        if self.child:
            self.child.stop()
        self.child = None

    def close(self) -> None:
        """Stop the child if nobody took it, and start no other."""
        with self.lock:
            self.is_closed = True
            self._stop()


class Report(Enum):
    """What a check in the background reports."""

    GOES_ON = auto()  # the step has passed, and only compiling is left
    VERDICT = auto()  # it has a verdict
    CANCELED = auto()  # somebody has canceled it
    BROKEN = auto()  # a fault of the check itself has ended it, and is printed where the command runs


FAULT = "The check itself failed, and not your file: please report what is printed in the terminal."


class BackgroundCheck(threading.Thread):
    """A check whose child is listened to in a thread of its own.

    Args:
        check: the check, which ``start`` opens.
        ready: gives the child of this check, and gets the next one ready.
        notify: called in the thread, with this object and a report.
        compile_seconds: how long MAX may compile one thing, if there may be nobody to end it.
    """

    def __init__(
        self,
        check: Check,
        ready: ReadyChild,
        notify: Callable[[BackgroundCheck, Report], None],
        compile_seconds: float | None = None,
    ) -> None:
        super().__init__(daemon=True)
        self.check, self.ready, self.notify = check, ready, notify
        self.limits = limits_of(compile_seconds=compile_seconds)
        self.was_canceled = threading.Event()
        self.has_gone_on = False
        self.job: Job | None = None
        self.child: Child | None = None

    def start(self) -> None:
        """Read the file, and show what is known without running it; the rest happens in the thread."""
        self.job = self.check.open()
        self.child = self.ready.take(self.check.step) if self.job else None
        super().start()

    @property
    def goes_on(self) -> bool:
        """Whether the step has passed, and only compiling is left, for which nobody need wait."""
        return self.check.state.phase is Phase.GOING_ON

    def run(self) -> None:
        """Carry out the check, and report its end."""
        try:
            if self.child and self.job:
                self._listen(self.child, self.job)
            report = Report.VERDICT
        except Exception:
            traceback.print_exc()
            report = Report.BROKEN
        if self.was_canceled.is_set():
            report = Report.CANCELED
        self.notify(self, report)
        if report is not Report.CANCELED and not self.has_gone_on:
            self.ready.start_spare(self.check.step)

    def _listen(self, child: Child, job: Job) -> None:
        """Handle the child's events, to the last or until the check is canceled; a pass is saved as it comes."""
        with child, closing(self.check):
            for event in child.run(job, self.limits):
                if self.was_canceled.is_set():
                    return
                self.check.handle(event)
                if event == StageEnded(Stage.DRAWN) and self.check.state.only_compiling_is_left:
                    self.ready.start_spare(self.check.step)
                if self.goes_on and not self.has_gone_on:
                    self._go_on(child)

    def _go_on(self, child: Child) -> None:
        """Report that the learner may go on, with a child that lets everything else go first."""
        self.has_gone_on = True
        child.lower_priority()
        self.notify(self, Report.GOES_ON)

    def cancel(self) -> None:
        """Cancel the check, from any thread."""
        self.was_canceled.set()
        if self.child:
            self.child.kill()
