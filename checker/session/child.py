"""The process that runs a check: start it, give it a job, hear it in time, end it.

The child runs the learner's code, so its exit status and what it prints mean nothing; only its events count.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, replace

from checker.course.languages import Location
from checker.course.machine import crowd, load
from checker.course.steps import ROOT, Step
from checker.events import Compiling, Died, Ended, Event, Job, Late, Printed, Tick, decode
from checker.session.limits import COMPILING, COMPUTING, STARTING, WAITING, Limits, Spent, limits_of, reached

TICK_SECONDS = 0.05  # ``watch`` looks for saves and keys this often
PRINTED_LINES = 200  # of the learner's own output
PRINTED_BYTES = 10_000  # of one such line
MOST_READS = 16  # of what it has printed when it ends: more than a pipe holds
ANSWER_SECONDS = 2  # for the child to say where it is
LOOK_SECONDS = 2  # without an event until it is measured what a child computes; few checks are that quiet
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

    def run(self, job: Job, limits: Limits | None = None) -> Generator[Event]:
        """Carry out ``job`` and yield its events; the last is ``Ended``, ``Died``, or ``Late`` at one of the limits."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the events report a dead child
            self.process.stdin.write(json.dumps(asdict(job)).encode() + b"\n")
            self.process.stdin.flush()  # it stays open for as long as this process lives
        for event in self._listen(limits or limits_of(solution=job.solution)):
            if isinstance(event, Late) and event.limit in (COMPUTING, WAITING):
                event = replace(event, location=self._running(job))
            yield event

    def _listen(self, limits: Limits) -> Iterator[Event]:
        """Yield what the child says and prints, and a ``Tick`` several times per second."""
        assert self.process.stdout is not None
        pipe = _Lines(self.reader, decode)
        output = _Output(self.process.stdout.fileno())
        pace, doing = _Pace(self.process.pid), STARTING
        compiling: list[tuple[str, float]] = []  # what is being compiled, one within the other, and since when
        with selectors.DefaultSelector() as selector:
            for lines in (pipe, output):
                selector.register(lines.descriptor, selectors.EVENT_READ, lines)
            while pipe.open:
                for key, _ in selector.select(timeout=TICK_SECONDS):
                    for event in key.data.read():
                        match event:
                            case Compiling(what, None):
                                compiling.append((what, time.monotonic()))
                            case Compiling():
                                del compiling[-1:]
                        if not isinstance(event, Printed):
                            doing = COMPILING if compiling else COMPUTING
                            pace.start_over()
                        if isinstance(event, Ended):
                            yield from output.rest_of_it()  # what was printed before it
                            yield event
                            return
                        yield event
                    if not key.data.open:
                        selector.unregister(key.fd)
                if pace.is_quiet and (over := reached(limits, doing, pace.spent())):
                    yield from output.rest_of_it()
                    yield Late(*over, compiling=compiling[-1][0] if compiling else "", crowd=crowd())
                    return
                yield Tick(compiling[-1][0], time.monotonic() - compiling[-1][1]) if compiling else Tick()
        yield from output.rest_of_it()
        yield Died()

    def _running(self, job: Job) -> Location | None:
        """Return the line of the learner's file that is running, if one is.

        Asked by a signal, Python writes the lines of its stack, the innermost first, even while C code runs.
        """
        path = job.path.encode("ascii", "backslashreplace")
        self.process.send_signal(signal.SIGVTALRM)
        said = b""
        while select.select([self.reader], [], [], ANSWER_SECONDS)[0] and (data := os.read(self.reader, 1 << 16)):
            said += data
            if line := re.search(rb'File "%s", line (\d+)' % re.escape(path), said):
                lines, number = job.source.splitlines(), int(line[1])
                return Location(number, lines[number - 1].strip() if number <= len(lines) else "")
        return None

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


class _Pace:
    """Measures what a child spends between two events."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.start_over()

    def start_over(self) -> None:
        """Begin anew: an event was heard."""
        self.heard = time.monotonic()
        self.computed_before: float | None = None

    @property
    def is_quiet(self) -> bool:
        """Whether nothing was heard for a moment."""
        return time.monotonic() - self.heard > LOOK_SECONDS

    def spent(self) -> Spent:
        """Return what the child has spent since the last event; of processor time, what was seen of it."""
        computed = thread_seconds(self.pid)
        if self.computed_before is None:
            self.computed_before = computed
        return Spent(time.monotonic() - self.heard, computed - self.computed_before, load())


def thread_seconds(pid: int) -> float:
    """Return the seconds of processor time that the first thread of a process has used, which runs a learner's file.

    Of another user's process, and on macOS, the system tells only what all threads have used.
    """
    import psutil  # which most checks do without

    try:
        process = psutil.Process(pid)
        try:
            by_thread = {thread.id: thread.user_time + thread.system_time for thread in process.threads()}
        except psutil.AccessDenied:
            by_thread = {}
        times = process.cpu_times()
        return by_thread.get(pid, times.user + times.system)
    except psutil.Error:  # it has just ended
        return 0.0


class _Lines:
    """The complete lines that come out of a pipe, as events."""

    longest: int | None = None  # bytes of a line that are kept

    def __init__(self, descriptor: int, event_of: Callable[[bytes], Event | None]) -> None:
        self.descriptor, self.event_of = descriptor, event_of
        self.line = b""  # that is not complete yet
        self.open = True

    def read(self) -> list[Event]:
        data = os.read(self.descriptor, 1 << 16)
        self.open = bool(data)
        *lines, self.line = (self.line + data).split(b"\n")
        if not self.open and self.line:
            lines, self.line = [*lines, self.line], b""
        return [event for line in lines if (event := self.event_of(line))]


class _Output(_Lines):
    """What the learner's file prints: so many lines, each no longer than so many bytes, and what was cut."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, self._printed)
        self.lines, self.cut = 0, 0  # lines that were read, and bytes of the line that is not complete

    def read(self) -> list[Event]:
        events = super().read()
        if over := self.line[PRINTED_BYTES:]:  # else 100 MB without an end of line would be copied again and again
            self.cut += len(over)
            self.line = self.line[:PRINTED_BYTES]
        return events

    def _printed(self, line: bytes) -> Event | None:
        cut, self.cut = self.cut + len(line[PRINTED_BYTES:]), 0
        self.lines += 1
        if self.lines > PRINTED_LINES:
            return None
        text = line[:PRINTED_BYTES].decode(errors="replace")
        return Printed(f"{text} … ({cut:,} more bytes)" if cut else text)

    def rest_of_it(self) -> list[Event]:
        """Return what has come already, also without an end of line, and how many lines were left out."""
        events = list[Event]()
        for _ in range(MOST_READS):
            if self.open and select.select([self.descriptor], [], [], 0)[0]:
                events += self.read()
        if self.line and (event := self._printed(self.line)):
            events.append(event)
        self.line = b""
        if (more := self.lines - PRINTED_LINES) > 0:
            events.append(Printed(f"… and {more:,} more lines"))
        return events
