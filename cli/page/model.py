"""What the interactive figures of the book ask the model, answered by a process of its own, which runs learner's steps.

Steps that have passed as they are stand in for the solutions. The process starts with the first question, stays for the
next, and is started anew when other steps have passed. It answers one question at a time, and ends when an answer takes
too long or when nobody has asked for a while, since it takes some 300 MB.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

from checker.course.paths import ROOT
from checker.course.progress import digest
from checker.course.standing import standing
from checker.course.steps import CACHED_MODEL, Step, steps_up_to
from play.training.curve import as_points
from play.training.plan import FIGURES, OUT

COMMAND = (sys.executable, "-m", "play.widgets")
SECONDS = (120.0, 60.0)  # for the first answer, since MAX is imported, and for another, since it may have to compile
IDLE_SECONDS = 600.0  # without a question, after which the process ends
WAIT_SECONDS = 10.0  # for the answer to another question
MOST_ASKED = 32_000  # bytes of a question; a pipe takes as many even if nobody reads it
MOST_BYTES = 8_000_000  # of an answer
ASKED = ("attention", "sampling", "cache")

Answer = dict[str, Any]


class NoAnswer(Exception):
    """A question has no answer; the message says why."""


class Model:
    """The model that the page asks.

    Args:
        command: starts the process, but for the descriptor that it writes to and the names of steps.
        seconds: how long the first answer may take, and another.
        idle_seconds: how long the process stays without a question.
    """

    def __init__(
        self,
        command: Sequence[str] = COMMAND,
        seconds: tuple[float, float] = SECONDS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self.command, self.seconds, self.idle_seconds = command, seconds, idle_seconds
        self.process: _Process | None = None
        self.rest: threading.Timer | None = None
        self.turn = threading.Lock()
        self.is_closed = False

    def ask(self, what: str, question: Answer) -> Answer:
        """Answer a question, and say which ``steps`` of the learner's have computed it.

        Raises:
            NoAnswer: too many ask at once, the model refuses the text, or it takes too long.
        """
        if what == "training":
            return training()
        if what not in ASKED:
            raise NoAnswer("there is no such figure")
        if not self.turn.acquire(timeout=WAIT_SECONDS):
            raise NoAnswer("the model is reading other texts; ask again in a moment")
        try:
            if self.rest:
                self.rest.cancel()
            steps = done()
            answer = self._started(steps).ask({**question, "what": what})
            self.rest = threading.Timer(self.idle_seconds, self._end_if_idle)
            self.rest.daemon = True
            self.rest.start()
        finally:
            self.turn.release()
        if "error" in answer:
            raise NoAnswer(str(answer["error"]))
        return {**answer, "steps": [step.name for step in steps]}

    def _started(self, steps: list[Step]) -> _Process:
        """Return the process for these steps, the one that runs or a new one."""
        state = digest(*(f"{step.name} {step.learner_file.read_text()}" for step in steps))
        if self.is_closed:
            raise NoAnswer("the server has ended")
        if self.process and not (self.process.state == state and self.process.is_alive):
            self.process.close()
            self.process = None
        if not self.process:
            self.process = _Process(self.command, [step.name for step in steps], state, self.seconds)
        return self.process

    def _end_if_idle(self) -> None:
        """End the process, unless a question has come just now."""
        with self.turn:
            if self.process and threading.current_thread() is self.rest:
                self.process.close()

    def close(self) -> None:
        """End the process, in the middle of an answer too."""
        self.is_closed = True
        if self.rest:
            self.rest.cancel()
        if self.process:
            self.process.end()
        with self.turn:
            if self.process:
                self.process.close()


def done() -> list[Step]:
    """Return the learner's steps of the model that have passed as they are."""
    return [step for step in steps_up_to(CACHED_MODEL) if standing(step).state == "done"]


def training() -> Answer:
    """Return the losses of the learner's newest training, as far as it has come, and the name of its ``folder``.

    Raises:
        NoAnswer: ``./run train`` has made no folder in the course, or what is in it cannot be read.
    """
    written = max(ROOT.glob(f"*/{FIGURES}"), key=lambda file: file.stat().st_mtime, default=None)
    if written is None:
        raise NoAnswer(f"there is no {OUT / FIGURES} yet; `./run train` writes it as it goes on")
    try:
        return {**as_points(_parsed(written.read_bytes())), "folder": written.parent.name}
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise NoAnswer(f"{written.relative_to(ROOT)} cannot be read") from error


def _parsed(text: bytes) -> Answer:
    """Return an object of JSON, in which every number is one, as browsers want it.

    Raises:
        ValueError: it is none.
    """

    def reject(name: str) -> None:
        raise ValueError(f"{name} is no number")

    parsed = json.loads(text, parse_constant=reject)
    if not isinstance(parsed, dict):
        raise ValueError("this is no object")
    return parsed


class _Process:
    """A process that answers questions with the learner's files of some steps, whose texts ``state`` identifies."""

    def __init__(self, command: Sequence[str], names: list[str], state: str, seconds: tuple[float, float]) -> None:
        self.state = state
        self.seconds, self.seconds_later = seconds
        reader, writer = os.pipe()
        self.process = subprocess.Popen(
            [*command, str(writer), *names],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[writer],
            start_new_session=True,
        )
        os.close(writer)
        self.answers = os.fdopen(reader, "rb")

    @property
    def is_alive(self) -> bool:
        return not self.answers.closed and self.process.poll() is None

    def ask(self, question: Answer) -> Answer:
        """Send a question, and return the answer.

        Raises:
            NoAnswer: it takes too long, or the process ends or says something else; it is gone then.
        """
        line = json.dumps(question).encode() + b"\n"
        if len(line) > MOST_ASKED:
            raise NoAnswer("the text is too long")
        assert self.process.stdin is not None
        deadline = threading.Timer(self.seconds, self.end)
        deadline.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.write(line)
                self.process.stdin.flush()
            answer = _parsed(self.answers.readline(MOST_BYTES))
        except ValueError as error:
            self.close()
            raise NoAnswer("your steps gave no answer in time; `./run generate --mine` says more") from error
        finally:
            deadline.cancel()
        self.seconds = self.seconds_later
        return answer

    def end(self) -> None:
        """End the process and whatever it has started, while another thread may wait for its answer."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process, and close what leads to it; a second call does nothing."""
        if not self.answers.closed:
            self.end()
            self.process.wait()
            self.answers.close()
            assert self.process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
