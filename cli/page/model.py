"""What the pictures of the book ask the model, answered by a process of its own, for it runs the learner's steps.

Steps that have a yes as they are stand in for the solutions. The process starts with the first question, stays for the
next, and is started anew when other steps have a yes. One question is answered at a time, one more may wait. The
process ends when an answer takes too long, and when nobody has asked for a while, for it takes some 300 MB.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from checker.course.paths import ROOT
from checker.course.progress import digest
from checker.course.standing import standing
from checker.course.steps import Step, all_steps
from play.training.curve import as_points
from play.training.plan import FIGURES, OUT

FIRST, LAST = "step_01", "step_14"  # the steps that the model on a text, and its cache, are made of
COMMAND = (sys.executable, "-m", "play.widgets")
SECONDS = (120.0, 60.0)  # for the first answer, since MAX is imported, and for another, since it may have to compile
IDLE_SECONDS = 600.0  # without a question, after which the process ends
END_SECONDS = 0.1  # between two tries to end it
MOST_ASKED = 32_000  # bytes of a question; a pipe takes as many even if nobody reads it
MOST_BYTES = 8_000_000  # of an answer
MOST_WAITING = 2  # questions at once, the one that is being answered among them
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
        self.command = command
        self.seconds = seconds
        self.idle_seconds = idle_seconds
        self.process: _Process | None = None
        self.rest: threading.Timer | None = None
        self.turn = threading.Lock()
        self.places = threading.BoundedSemaphore(MOST_WAITING)
        self.is_closed = False

    def ask(self, what: str, question: Answer) -> Answer:
        """Answer a question, and say which ``steps`` of the learner's have computed it.

        Raises:
            NoAnswer: too many ask at once, the model refuses the text, or it takes too long.
        """
        if not self.places.acquire(blocking=False):
            raise NoAnswer("the model is reading other texts; ask again in a moment")
        try:
            with self.turn:
                if self.rest:
                    self.rest.cancel()
                steps = done()
                found = self._started(steps).ask({**question, "what": what})
                self.rest = threading.Timer(self.idle_seconds, self._end_if_idle)
                self.rest.daemon = True
                self.rest.start()
        finally:
            self.places.release()
        if "error" in found:
            raise NoAnswer(str(found["error"]))
        return {**found, "steps": [step.name for step in steps]}

    def _started(self, steps: list[Step]) -> _Process:
        """Return the process for these steps, the one that runs or a new one."""
        state = digest(*(f"{step.name} {step.learner_file.read_text()}" for step in steps))
        if self.is_closed:
            raise NoAnswer("the server has ended")
        if self.process and not (self.process.is_alive and self.process.state == state):
            self.process.end()
            self.process = None
        if not self.process:
            self.process = _Process(self.command, [step.name for step in steps], state, *self.seconds)
        return self.process

    def _end_if_idle(self) -> None:
        """End the process, unless a question has come just now."""
        if self.turn.acquire(blocking=False):
            if self.process and threading.current_thread() is self.rest:
                self.process.end()
            self.turn.release()

    def close(self) -> None:
        """End the process, in the middle of an answer too."""
        self.is_closed = True
        if self.rest:
            self.rest.cancel()
        while not self.turn.acquire(timeout=END_SECONDS):
            if self.process:
                self.process.kill()
        if self.process:
            self.process.end()
        self.turn.release()


def done() -> list[Step]:
    """Return the learner's steps of the model that have a yes as they are."""
    return [step for step in all_steps() if FIRST <= step.name <= LAST and standing(step).state == "done"]


def training() -> Answer:
    """Return the losses of the learner's newest training, as far as it has come, and the name of its ``folder``.

    Raises:
        NoAnswer: ``./run train`` has made no folder in the course, or what is in it cannot be read.
    """
    name = OUT / FIGURES
    try:
        written = max(ROOT.glob(f"*/{FIGURES}"), key=lambda file: file.stat().st_mtime, default=None)
        if written is None:
            raise NoAnswer(f"there is no {name} yet; `./run train` writes it as it goes on")
        name = written.relative_to(ROOT)
        if written.stat().st_size > MOST_BYTES:
            raise NoAnswer(f"{name} is too long to be shown")
        return {**as_points(_parsed(written.read_bytes())), "folder": written.parent.name}
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise NoAnswer(f"{name} cannot be read") from error


def _parsed(text: bytes) -> Answer:
    """Return an object of JSON, in which every number is one, as browsers want it.

    Raises:
        ValueError: it is none.
    """

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no number")

    found = json.loads(text, parse_constant=refuse)
    if not isinstance(found, dict):
        raise ValueError("this is no object")
    return found


class _Process:
    """A process that answers questions, with the learner's files of some steps.

    Args:
        command: starts it.
        names: of the steps.
        state: a name for what they are.
        seconds: how long the first answer may take.
        then: how long another may.
    """

    def __init__(self, command: Sequence[str], names: list[str], state: str, seconds: float, then: float) -> None:
        self.state = state
        self.seconds, self.then = seconds, then
        self.pipe, writer = os.pipe()
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

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def ask(self, question: Answer) -> Answer:
        """Send a question, and return the answer.

        Raises:
            NoAnswer: it takes too long, or the process ends or says something else; it is gone then.
        """
        line = json.dumps(question).encode() + b"\n"
        if len(line) > MOST_ASKED:
            raise NoAnswer("the text is too long")
        try:
            assert self.process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.write(line)
                self.process.stdin.flush()
            found = _parsed(self._line())
        except ValueError as error:
            self.end()
            raise NoAnswer("the steps gave no answer that can be shown") from error
        except NoAnswer:
            self.end()
            raise
        self.seconds = self.then
        return found

    def _line(self) -> bytes:
        """Return the line that comes next."""
        data, deadline = bytearray(), time.monotonic() + self.seconds
        pipe = select.poll()
        pipe.register(self.pipe, select.POLLIN)
        while not data.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0:
                raise NoAnswer(f"there was no answer within {self.seconds:g} seconds")
            if not pipe.poll(1000 * left):
                continue
            read = os.read(self.pipe, 1 << 20)
            data += read
            if not read:
                raise NoAnswer("the process that runs your steps has ended; `./run generate --mine` says more")
            if len(data) > MOST_BYTES:
                raise NoAnswer("the answer is too long to be shown")
        return bytes(data)

    def kill(self) -> None:
        """End the process and whatever it started, while another thread waits for its answer."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """End the process for good; a second call does nothing."""
        if self.pipe < 0:
            return
        self.kill()
        self.process.wait()
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        os.close(self.pipe)
        self.pipe = -1
