"""The process that runs a check: start it, give it a job, hear it in time, end it.

The child runs the learner's code, so its exit status and what it prints mean nothing; only its events count.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, replace

from checker.course.steps import ROOT, Step
from checker.events import Compiling, Died, Ended, Event, Job, Late, Printed, Tick, decode

#: Seconds without an event of a learner's file, while nothing is being compiled; tests shorten it.
QUIET_SECONDS = float(os.environ.get("COURSE_QUIET_SECONDS", "10"))
COMPILE_SECONDS = 900.0  # for one thing that MAX compiles
START_SECONDS = 120.0  # for importing MAX from a cold disk
TICK_SECONDS = 0.05  # ``watch`` looks for saves and keys this often
PRINTED_LINES = 200  # of the learner's own output
PRINTED_BYTES = 10_000  # of one such line
ANSWER_SECONDS = 1  # for the child to say where it hangs
LOW_PRIORITY = 10  # as `nice` has it


class Child:
    """A process that carries out one job, and may be started ahead of it.

    It reads the job as the first line of standard input. Started for a ``step``, it imports what that step's check
    needs (MAX above all) and waits. Every job gets a new process, not a fork of one that has imported MAX: MAX starts
    threads when it is imported, and the first operation of a fork waits for them forever. If this process is killed,
    the other ends with all that it has started (``events.end_with_the_parent``).
    """

    def __init__(self, step: Step | None = None) -> None:
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

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def run(self, job: Job, quiet_seconds: float = QUIET_SECONDS) -> Generator[Event]:
        """Carry out ``job`` and yield its events; after ``quiet_seconds`` without one, the child is late."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the events report a dead child
            self.process.stdin.write(json.dumps(asdict(job)).encode() + b"\n")
            self.process.stdin.flush()  # it stays open for as long as this process lives
        for event in self._listen(quiet_seconds):
            if isinstance(event, Late):
                self.process.send_signal(signal.SIGVTALRM)
                answers = self._listen(ANSWER_SECONDS, started=True)
                event = replace(
                    event, location=next((each.location for each in answers if isinstance(each, Late)), None)
                )
            yield event

    def _listen(self, quiet_seconds: float, *, started: bool = False) -> Iterator[Event]:
        """Yield what the child says and prints, and a ``Tick`` several times per second.

        Args:
            quiet_seconds: seconds without an event until it is late, while nothing is being compiled.
            started: whether it has been heard before; at its start it may take longer.
        """
        assert self.process.stdout is not None
        descriptor, pipe = self.process.stdout.fileno(), _Lines(self.reader, decode)
        output = _Lines(descriptor, lambda line: Printed(line.decode(errors="replace")), PRINTED_BYTES)
        heard, printed, compiling = time.monotonic(), 0, False
        with selectors.DefaultSelector() as selector:
            for lines in (pipe, output):
                selector.register(lines.descriptor, selectors.EVENT_READ, lines)
            while pipe.open:
                for key, _ in selector.select(timeout=TICK_SECONDS):
                    for event in key.data.read():
                        if isinstance(event, Printed):
                            printed += 1
                            if printed > PRINTED_LINES:
                                continue
                        else:
                            heard, started = time.monotonic(), True
                        if isinstance(event, Compiling):
                            compiling = event.seconds is None
                        if isinstance(event, Ended):  # after what was printed before it
                            yield from output.waiting()[: max(PRINTED_LINES - printed, 0)]
                            yield event
                            return
                        yield event
                    if not key.data.open:
                        selector.unregister(key.fd)
                limit = COMPILE_SECONDS if compiling else quiet_seconds if started else START_SECONDS
                if time.monotonic() - heard > limit:
                    yield Late(limit)
                    return
                yield Tick()
        yield Died()

    def lower_priority(self) -> None:
        """Let everything else that runs on this machine go first."""
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PGRP, self.process.pid, LOW_PRIORITY)

    def kill(self) -> None:
        """End the child and whatever it started, while another thread listens to it: the last event is ``Died``."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def stop(self) -> None:
        """End the child and whatever it started; it has said what it had to say. A second call does nothing."""
        assert self.process.stdout is not None
        if self.process.stdout.closed:
            return
        self.kill()
        with contextlib.suppress(BrokenPipeError), self.process:  # this waits for it, and closes its pipes
            os.close(self.reader)


class _Lines:
    """The complete lines that come out of a pipe, as events; of each, no more than ``longest`` bytes."""

    def __init__(self, descriptor: int, event_of: Callable[[bytes], Event | None], longest: int | None = None) -> None:
        self.descriptor, self.event_of, self.longest = descriptor, event_of, longest
        self.rest = b""
        self.open = True

    def read(self) -> list[Event]:
        data = os.read(self.descriptor, 1 << 16)
        if not data:
            self.open = False
            data = b"\n" if self.rest else b""
        *lines, self.rest = (self.rest + data).split(b"\n")
        self.rest = self.rest[: self.longest]  # else 100 MB without an end of line would be copied again and again
        return [event for line in lines if (event := self.event_of(line[: self.longest]))]

    def waiting(self) -> list[Event]:
        """Read what has come already, if anything has."""
        return self.read() if self.open and select.select([self.descriptor], [], [], 0)[0] else []
