"""The process that runs a check: start it, give it a job, listen to it in time, end it.

The child runs the learner's code, so its exit status and what it prints mean nothing; only its events count.

A trick, ``SIGVTALRM``: at this signal the child writes its stack, which says at which line a file hangs.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, replace

from checker.course.reading import Location
from checker.course.steps import Step
from checker.event_codec import decode
from checker.events import (
    Activity,
    CheckFailed,
    CompilingBegan,
    CompilingEnded,
    Died,
    Ended,
    Event,
    Interrupted,
    Late,
    Limit,
    Printed,
    Tick,
    Unloadable,
)
from checker.job import Job
from checker.lines import Lines, StartedProcess
from checker.machine import crowd, load_per_core
from checker.parent.limits import Limits, Silence, limits_of, reached

TICK_SECONDS = 0.05  # ``watch`` looks for saves and keys this often
PRINTED_LINES = 200  # of the learner's own output
PRINTED_BYTES = 10_000  # of one such line
MOST_READS = 16  # of what it has printed when it ends: more than a pipe holds
ANSWER_SECONDS = 2  # for the child to say where it is
END_SECONDS = 1  # for the child to end once it says nothing more; one that has only closed its pipes never does
LOOK_SECONDS = 2  # without an event until it is measured what a child computes; few checks are that quiet
LOW_PRIORITY = 10  # as `nice` has it

SAID_LAST = Ended | Unloadable | CheckFailed  # what a child says after these is not heard
LAST = SAID_LAST | Died | Late | Interrupted  # after which no event comes


class Child:
    """A process that carries out one job, and may be started ahead of it.

    It reads the job as the first line of standard input. Started for a ``step``, it imports what that step's check
    needs (MAX above all) and waits. Every job gets a new process, not a fork of one that has imported MAX: MAX starts
    threads when it is imported, and the first operation of a fork waits for them forever. If this process is killed,
    the other ends with all that it has started (``lines.end_with_parent``).
    """

    def __init__(self, step: Step | None = None) -> None:
        command = [sys.executable, "-u", "-m", "checker.child.main"]
        if step:
            command.append(step.name)
        self.process = StartedProcess(command, printed=subprocess.PIPE)
        self.pid = self.process.popen.pid
        assert self.process.popen.stderr is not None
        self.output = _Output(Lines(self.process.popen.stderr.fileno()))

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def run(
        self, job: Job, limits: Limits | None = None, is_interrupted: Callable[[], bool] = lambda: False
    ) -> Generator[Event]:
        """Carry out ``job`` and yield its events; the last is one of ``LAST``.

        Args:
            job: the work.
            limits: of how long the child may be silent.
            is_interrupted: whether nobody listens any more; what has been read is yielded before that.
        """
        # Until the child reads, no more than 64 KB fit into the pipe, and the limits count from now on.
        threading.Thread(target=self.process.send, args=[asdict(job)], daemon=True).start()
        for event in self._listen(limits or limits_of(solution=job.options.solution), is_interrupted):
            if isinstance(event, LAST):
                yield from self.output.rest()  # what was printed before it
            if isinstance(event, Late) and event.limit in (Limit.COMPUTING, Limit.WAITING):
                event = replace(event, location=self._running(job))
            yield event

    def _listen(self, limits: Limits, is_interrupted: Callable[[], bool]) -> Iterator[Event]:
        """Yield what the child says and prints, and a ``Tick`` several times per second, up to the last event."""
        messages, watchdog = _Messages(self.process.lines), _Watchdog(self.pid, limits)
        with selectors.DefaultSelector() as selector:
            for source in (messages, self.output):
                selector.register(source.lines.descriptor, selectors.EVENT_READ, source)
            while messages.lines.is_open:
                if is_interrupted():
                    yield Interrupted()
                    return
                has_ended = not self.process.is_alive
                ready = selector.select(timeout=TICK_SECONDS)
                if has_ended and not any(key.data is messages for key, _ in ready):
                    break  # what it has started may hold the pipe, and print
                for key, _ in ready:
                    for event in key.data.events():
                        watchdog.note(event)
                        yield event
                        if isinstance(event, SAID_LAST):
                            return
                    if not key.data.lines.is_open:
                        selector.unregister(key.fd)
                if late := watchdog.late():
                    yield late
                    return
                yield Tick()
        yield Died(watchdog.activity, self.process.ended_by(END_SECONDS))

    def _running(self, job: Job) -> Location | None:
        """Return the line of the learner's file that is running, if one is.

        Asked by a signal, Python writes the lines of its stack, the innermost first, even while C code runs.
        """
        path = job.path.encode("ascii", "backslashreplace")
        self.process.send_signal(signal.SIGVTALRM)
        stack, descriptor = b"", self.process.lines.descriptor
        while select.select([descriptor], [], [], ANSWER_SECONDS)[0]:
            data = os.read(descriptor, 1 << 16)
            if not data:
                return None
            stack += data
            line = re.search(rb'File "%s", line (\d+)' % re.escape(path), stack)
            if line:
                number, lines = int(line[1]), job.source.lines
                return Location(number, lines[number - 1].strip() if number <= len(lines) else "")
        return None

    def lower_priority(self) -> None:
        """Let everything else that runs on this machine go first."""
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PGRP, self.pid, LOW_PRIORITY)

    def kill(self) -> None:
        """End the child and whatever it started, while another thread listens to it: the last event is ``Died``."""
        self.process.kill()

    def stop(self) -> None:
        """End the child and whatever it started; it has said what it had to say. A second call does nothing."""
        self.process.stop()


class _Watchdog:
    """Notices when a child has said nothing for too long: follows what it is at, and measures what it spends."""

    def __init__(self, pid: int, limits: Limits) -> None:
        self.pid, self.limits = pid, limits
        self.activity = Activity.STARTING
        self.being_compiled = 0  # how many things are being compiled, one within the other
        self.quiet_since = time.monotonic()
        self.computed_before: float | None = None

    def note(self, event: Event) -> None:
        """Take in an event. What the file prints doesn't count: a loop may print without end."""
        match event:
            case Printed():
                return
            case CompilingBegan():
                self.being_compiled += 1
            case CompilingEnded():
                self.being_compiled -= 1
        self.activity = Activity.COMPILING if self.being_compiled else Activity.COMPUTING
        self.quiet_since = time.monotonic()
        self.computed_before = None

    def late(self) -> Late | None:
        """Return that it has reached a limit, if it has been quiet for a while."""
        if time.monotonic() - self.quiet_since < LOOK_SECONDS:
            return None
        over = reached(self.limits, self.activity, self._silence())
        if over is None:
            return None
        limit, seconds = over
        return Late(limit, seconds, crowd=crowd())

    def _silence(self) -> Silence:
        """Return what the child has spent since the last event; of processor time, what was used since a first look."""
        computed = thread_seconds(self.pid)
        if self.computed_before is None:
            self.computed_before = computed
        return Silence(time.monotonic() - self.quiet_since, computed - self.computed_before, load_per_core())


def thread_seconds(pid: int) -> float:
    """Return the seconds of processor time that the first thread of a process has used, which runs a learner's file.

    Of another user's process, and on macOS, the system tells only what all threads have used.
    """
    import psutil  # which most checks do without

    try:
        process = psutil.Process(pid)
        with contextlib.suppress(psutil.AccessDenied):
            for thread in process.threads():
                if thread.id == pid:
                    return thread.user_time + thread.system_time
        times = process.cpu_times()
    except psutil.Error:  # it has just ended
        return 0.0
    return times.user + times.system


class _Messages:
    """What the child says, as events."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def events(self) -> list[Event]:
        """Return what has come; a line that is no event counts for nothing."""
        events = [decode(line) for line in self.lines.read()]
        return [event for event in events if event]


class _Output:
    """What the learner's file prints: so many lines, each no longer than so many bytes, and what was cut."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.count = 0  # lines that have come
        self.cut = 0  # bytes that the one which is not complete has lost

    def events(self) -> list[Printed]:
        """Return what has come in lines that are complete."""
        events = list[Printed]()
        for line in self.lines.read():
            events += self._printed(line)
        unfinished = self.lines.line
        if len(unfinished) > PRINTED_BYTES:  # else 100 MB in one line would be copied again and again
            self.cut += len(unfinished) - PRINTED_BYTES
            self.lines.line = unfinished[:PRINTED_BYTES]
        return events

    def _printed(self, line: bytes) -> list[Printed]:
        """Return a line that is complete, as far as it is shown; nothing if enough lines are."""
        cut = self.cut + len(line[PRINTED_BYTES:])
        self.cut = 0
        self.count += 1
        if self.count > PRINTED_LINES:
            return []
        text = line[:PRINTED_BYTES].decode(errors="replace")
        return [Printed(f"{text} … ({cut:,} more bytes)" if cut else text)]

    def rest(self) -> list[Printed]:
        """Return what has come already, also without an end of line, and how many lines were left out."""
        events = list[Printed]()
        for _ in range(MOST_READS):
            if self.lines.is_open and select.select([self.lines.descriptor], [], [], 0)[0]:
                events += self.events()
        if self.lines.line:
            events += self._printed(self.lines.line)
            self.lines.line = b""
        left_out = self.count - PRINTED_LINES
        if left_out > 0:
            events.append(Printed(f"… and {left_out:,} more lines"))
        return events
