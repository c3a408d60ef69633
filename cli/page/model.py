"""Answer the interactive figures of the book, by a process of its own that runs the model of the learner's steps.

Steps that have passed as they are stand in for the solutions. The process starts with the first question, stays for the
next, and is started anew when other steps have passed. It answers one question at a time, and is ended when an answer
takes too long.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Sequence

from starlette.concurrency import run_in_threadpool

from checker.course.steps import Step
from checker.errors import UserError
from checker.files import ROOT, digest, saved_at
from checker.protocol.processes import StartedProcess
from cli.page.requests import Json
from play.mine.choice import done_steps
from play.training.curve import as_points
from play.training.plan import FIGURES, OUT

COMMAND = (sys.executable, "-m", "play.widgets")
SECONDS = (120.0, 60.0)  # for the first answer, which imports MAX, and for another, which may have MAX compile
FIGURES_THAT_ASK = ("attention", "sampling", "cache")


class PageModel:
    """The model that answers the page's figures.

    Args:
        command: starts the process; the names of the learner's steps that it runs are appended.
        seconds: how long the first answer may take, and any other.
    """

    def __init__(self, command: Sequence[str] = COMMAND, seconds: tuple[float, float] = SECONDS) -> None:
        self.command, self.seconds = command, seconds
        self.process: StartedProcess | None = None
        self.state = ""  # identifies the texts of the steps that the process runs
        self.turn = threading.Lock()

    async def ask(self, what: str, question: Json) -> Json:
        """Return the answer to a question, with the learner's ``steps`` that have computed it.

        Raises:
            UserError: the model refuses the text, takes too long, or ends.
        """
        if what == "training":
            return await run_in_threadpool(training)
        if what not in FIGURES_THAT_ASK:
            raise UserError("there is no such figure")
        steps = await run_in_threadpool(lambda: [*done_steps().steps])
        answer = await run_in_threadpool(self._ask, steps, {**question, "what": what})
        if "error" in answer:
            raise UserError(str(answer["error"]))
        return {**answer, "steps": [step.name for step in steps]}

    def _ask(self, steps: list[Step], question: Json) -> Json:
        """Return what the process for these steps answers, the one that runs or a new one."""
        with self.turn:
            state = digest(*(f"{step.name} {step.learner_file.read_text(encoding='utf-8')}" for step in steps))
            seconds = self.seconds[1]
            if not self.process or not self.process.is_alive or self.state != state:
                self.close()
                self.process = StartedProcess([*self.command, *(step.name for step in steps)])
                self.state, seconds = state, self.seconds[0]
            self.process.send(question)
            answer = self.process.receive(seconds)
            if answer is None:  # too late, not there, or something else than an answer
                self.close()
                raise UserError("your steps gave no answer in time; `./run generate --mine` says more")
            return answer

    def close(self) -> None:
        """End the process and whatever it has started; an answer that somebody waits for does not come."""
        if self.process:
            self.process.stop()


def training() -> Json:
    """Return the losses of the learner's newest training, as far as it has come, and the name of its ``folder``.

    Raises:
        UserError: ``./run train`` has made no folder in the course, or what is in it cannot be read.
    """
    figures = max(ROOT.glob(f"*/{FIGURES}"), key=saved_at, default=None)
    if figures is None:
        raise UserError(f"there is no {OUT / FIGURES} yet; `./run train` writes it as it goes on")
    try:
        return {**as_points(json.loads(figures.read_bytes())), "folder": figures.parent.name}
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise UserError(f"{figures.relative_to(ROOT)} cannot be read") from error
