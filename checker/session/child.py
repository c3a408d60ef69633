"""The parent of a check: starts the child, keeps time, and believes only what it receives.

The child runs the learner's code, so nothing of it is trusted: its exit status and what it prints
mean nothing, an event counts only with this run's token, and a yes needs one for every claim.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from checker.course.paths import ROOT
from checker.course.steps import Step

ANSWER_SECONDS = 1  # for the child to say where it hangs
QUIET_SECONDS = 10  # without an event, while nothing is being compiled
COMPILE_SECONDS = 900  # for one thing that MAX compiles
START_SECONDS = 120  # for importing MAX from a cold disk
PRINTED_LINES = 200  # of the learner's own output

Event = dict[str, Any]


@dataclass
class Job:
    """What a child is to do. ``kind`` is ``learner``, ``solution`` or ``survey``."""

    step: Step
    kind: str
    source: str
    path: str
    compile: bool = True
    naming: bool = True
    device: str | None = None

    def as_json(self) -> str:
        """What the child reads."""
        return json.dumps({**vars(self), "step": self.step.name})


class Child:
    """A process that carries out one job, and may be started ahead of it.

    Started for a ``step``, it imports what that step's check needs (MAX above all) and waits. A new one for
    every job rather than a fork of one that has imported MAX: MAX starts threads when it is imported, and
    the first operation of a fork waits for them for ever.
    """

    def __init__(self, step: Step | None = None) -> None:
        self.token = secrets.token_hex(16)
        self.reader, writer = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", "checker.claims.worker", str(writer), *([step.name] if step else [])],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[writer],
            start_new_session=True,
        )
        os.close(writer)
        self._write(f"{self.token}\n")

    def _write(self, text: str) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # a dead child is told of by its events
            self.process.stdin.write(text.encode())
            self.process.stdin.flush()

    def run(self, job: Job, wake: Sequence[int] = ()) -> Generator[Event, None, None]:
        """Carry out ``job`` and yield its events; when a descriptor of ``wake`` is readable, a ``tick`` at once."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        output = self.process.stdout.fileno()
        self._wake()
        self._write(job.as_json())
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self._wake()
        heard = False
        for event in _events(self.token, self.reader, output, wake=wake):
            heard |= event["event"] != "tick"
            if not heard:
                self._wake()  # it may have lain down just when it was woken
            if event["event"] == "late":
                self.process.send_signal(signal.SIGVTALRM)
                answers = _events(self.token, self.reader, output, ANSWER_SECONDS)
                event["where"] = next((answer["where"] for answer in answers if answer["event"] == "hanging"), "")
            yield event

    def _wake(self) -> None:
        """Let a child go on that was started ahead and has stopped itself until there is a job."""
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End the child and whatever it started; it has said what it had to say."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.reader)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def run(job: Job) -> Iterator[Event]:
    """Run one job in a child process and yield its events as they come.

    Besides the worker's own (``checker/claims/worker.py``) there are ``printed`` (a line of the learner's
    output), ``tick`` (several a second, to show progress), ``late`` (a time limit is over; the child is
    stopped, and has said where it was) and ``died`` (it ended before it had said all). The last event is
    ``end``, ``late`` or ``died``.
    """
    child = Child()
    try:
        yield from child.run(job)
    finally:
        child.stop()


class _Lines:
    """The lines that come out of a pipe, as far as they are complete."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.rest = b""
        self.open = True

    def read(self) -> list[str]:
        data = os.read(self.descriptor, 1 << 16)
        if not data:
            self.open = False
            lines, self.rest = ([self.rest] if self.rest else []), b""
        else:
            *lines, self.rest = (self.rest + data).split(b"\n")
        return [line.decode(errors="replace") for line in lines]


def _events(
    token: str, pipe: int, output: int, patience: float | None = None, wake: Sequence[int] = ()
) -> Iterator[Event]:
    told, printed, compiling, started = _Lines(pipe), 0, False, False
    with selectors.DefaultSelector() as selector:
        lines = {pipe: told, output: _Lines(output)}
        for descriptor in (*lines, *wake):
            selector.register(descriptor, selectors.EVENT_READ)
        heard = time.monotonic()
        while told.open:
            for key, _ in selector.select(timeout=0.2):
                if key.fd in wake:
                    continue
                source = lines[key.fd]
                for line in source.read():
                    if source is not told:
                        printed += 1
                        if printed <= PRINTED_LINES:
                            yield {"event": "printed", "text": line}
                        continue
                    event = _believed(line, token)
                    if event is None:
                        continue
                    heard, started = time.monotonic(), True
                    if event["event"] == "compiling":
                        compiling = event["seconds"] is None
                    yield event
                    if event["event"] == "end":
                        return
                if not source.open:
                    selector.unregister(key.fd)
            limit = patience or (COMPILE_SECONDS if compiling else QUIET_SECONDS if started else START_SECONDS)
            if time.monotonic() - heard > limit:
                yield {"event": "late", "seconds": limit}
                return
            yield {"event": "tick"}
    yield {"event": "died"}


def _believed(line: str, token: str) -> Event | None:
    """The event on a line of the pipe, if it is one and has the token."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    if not isinstance(event, dict) or not secrets.compare_digest(str(event.pop("token", "")), token):
        return None
    return event
