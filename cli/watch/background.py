"""Finish a check in the background, once only compiling is left, while the learner writes the next step."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from checker.events import Event
from checker.session.child import Child
from checker.session.printer import View
from checker.session.session import Session
from checker.session.verdict import PASSED
from cli.watch.inputs import Compiled, Inputs


class Compilation:
    """The rest of a check that has passed already: a thread listens to the child, which runs at low priority.

    Its result is one line, which arrives as an input of ``watch``.

    Args:
        session: the check, which has heard everything so far.
        child: its child, which is stopped at the end.
        events: what the child goes on to say.
        inputs: where the result goes.
    """

    def __init__(self, session: Session, child: Child, events: Iterator[Event], inputs: Inputs) -> None:
        self.session, self.child, self.events, self.inputs = session, child, events, inputs
        self.is_cancelled = False
        session.view = View()
        child.lower_priority()
        self.thread = threading.Thread(target=self._hear, daemon=True)
        self.thread.start()

    def _hear(self) -> None:
        try:
            for event in self.events:
                self.session.hear(event)
        finally:
            self.child.stop()
        if not self.is_cancelled:
            self.inputs.put(Compiled(self.session.step, self.session, in_one_line(self.session)))

    def cancel(self) -> None:
        """Stop it; the pass stays, not compiled."""
        self.is_cancelled = True
        self.child.kill()
        self.thread.join()


def in_one_line(session: Session) -> str:
    """Return the result of compiling, in one line."""
    task, verdict = session.step.task, session.conclude()
    if verdict.status == PASSED:
        return f"{task} is compiled too, and gives the same numbers ({session.seconds():.1f} s)."
    why = " ".join(explanation.sentence for explanation in verdict.explanations)
    if session.state.has_failed:
        return f"{task} is no longer done: once compiled, it is wrong. {why} `./run {task}` shows it."
    return f"{task} is not compiled; its pass is kept. {why}"
