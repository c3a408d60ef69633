"""The child of a check, seen from the parent: start it, give it a job, listen to it in time, end it.

The child runs the learner's code, so its exit status and its output mean nothing; only its events count.

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
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, replace

from checker.course.reading import Location, location_in
from checker.course.steps import Step
from checker.machine import load_if_busy, load_per_core
from checker.parent.limits import Limits, Silence, limit_reached, limits_of
from checker.protocol.event_codec import decode
from checker.protocol.events import (
    Activity,
    CompilingBegan,
    CompilingEnded,
    CutsShort,
    Died,
    Event,
    Interrupted,
    Late,
    Limit,
    Printed,
    SaidLast,
    Tick,
)
from checker.protocol.job import Job
from checker.protocol.processes import Lines, StartedProcess

TICK_SECONDS = 0.05  # the longest time between two looks for Ctrl-C
PRINTED_LINES = 200  # of the learner's own output are shown as they come
LAST_LINES = 5  # and so many at its end
PRINTED_BYTES = 10_000  # of one such line are shown
MOST_READS = 16  # of the output when the child ends: more than a pipe holds
ANSWER_SECONDS = 2  # for the child to write its stack
END_SECONDS = 1  # for the child to end after its last event; one that has only closed its pipes never does
QUIET_SECONDS = 2  # without an event, after which the child's processor time is measured; few checks are that quiet
LOW_PRIORITY = 10  # as `nice` has it


class Child:
    """A process that carries out one job, and may be started ahead of it.

    The child reads the job as the first line of standard input. Started for a ``step``, it imports what that step's
    check needs (MAX above all) and waits. Every job gets a new process, not a fork of one that has imported MAX: MAX
    starts threads when it is imported, and the first operation of a fork waits for them forever. If the parent is
    killed, the child ends with all that it has started (``processes.end_with_parent``).
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
        """Carry out ``job`` and yield its events; the last is one of ``SaidLast`` or ``CutsShort``.

        Args:
            job: the work.
            limits: the limits on the child's silence.
            is_interrupted: returns whether to stop; all events that were read are yielded before.
        """
        # Until the child reads, no more than 64 KB fit into the pipe, and the limits count from now on.
        threading.Thread(target=self.process.send, args=[asdict(job)], daemon=True).start()
        for event in self._listen(limits or limits_of(is_solution=job.options.is_solution), is_interrupted):
            if isinstance(event, SaidLast | CutsShort):
                yield from self.output.rest()  # the output that was printed before the event
            if isinstance(event, Late) and event.limit in (Limit.COMPUTING, Limit.WAITING):
                event = replace(event, location=self._running(job))
            yield event

    def _listen(self, limits: Limits, is_interrupted: Callable[[], bool]) -> Iterator[Event]:
        """Yield the child's events and output, and a ``Tick`` several times per second, up to the last event."""
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
                    break  # processes that the child has started may hold the pipe, and print
                for key, _ in ready:
                    for event in key.data.events():
                        watchdog.note(event)
                        yield event
                        if isinstance(event, SaidLast):
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

        At a signal, the child's Python writes the lines of its stack, the innermost first, even while C code runs.
        """
        path = job.path.encode("ascii", "backslashreplace")
        self.process.send_signal(signal.SIGVTALRM)
        stack, descriptor = b"", self.process.lines.descriptor
        deadline = time.monotonic() + ANSWER_SECONDS
        while (left := deadline - time.monotonic()) > 0 and select.select([descriptor], [], [], left)[0]:
            data = os.read(descriptor, 1 << 16)
            if not data:
                return None
            stack += data
            line = re.search(rb'File "%s", line (\d+)' % re.escape(path), stack)
            if line:
                return location_in(job.source.lines, int(line[1]))
        return None

    def lower_priority(self) -> None:
        """Let everything else that runs on this machine go first."""
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PGRP, self.pid, LOW_PRIORITY)

    def kill(self) -> None:
        """End the child and all that it started, while another thread listens to it: the last event is ``Died``."""
        self.process.kill()

    def stop(self) -> None:
        """End the child and all that it started. A second call does nothing."""
        self.process.stop()


class _Watchdog:
    """Notices when a child has been silent for too long: it follows the child's activity, and measures its time."""

    def __init__(self, pid: int, limits: Limits) -> None:
        self.pid, self.limits = pid, limits
        self.activity = Activity.STARTING
        self.being_compiled = 0  # how many compilations go on, one within the other
        self.quiet_since = time.monotonic()
        self.computed_before: float | None = None

    def note(self, event: Event) -> None:
        """Take in an event. Output of the file doesn't count: a loop may print without end."""
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
        """Return an event if the child has reached a limit; nothing is measured before it was silent for a while."""
        if time.monotonic() - self.quiet_since < QUIET_SECONDS:
            return None
        limit_and_seconds = limit_reached(self.limits, self.activity, self._silence())
        if limit_and_seconds is None:
            return None
        limit, seconds = limit_and_seconds
        return Late(limit, seconds, load_if_busy=load_if_busy())

    def _silence(self) -> Silence:
        """Return the time since the last event; processor time is counted from a first measurement on."""
        computed = thread_seconds(self.pid)
        if self.computed_before is None:
            self.computed_before = computed
        return Silence(time.monotonic() - self.quiet_since, computed - self.computed_before, load_per_core())


def thread_seconds(pid: int) -> float:
    """Return the processor time, in seconds, of the first thread of a process, which runs a learner's file.

    On macOS, and for another user's process, the system only tells the time of all threads.
    """
    import psutil  # most checks do without it

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
    """The events that the child sends."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def events(self) -> list[Event]:
        """Return the events that have come; a line that is no event is dropped."""
        events = [decode(line) for line in self.lines.read()]
        return [event for event in events if event]


class _Output:
    """The output of the learner's file, in lines up to a number of bytes: the first ones, and the last, at its end.

    It tells how much was cut. The last lines may say why the language has stopped the file.
    """

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.count = 0  # lines that have come
        self.last = deque[Printed](maxlen=LAST_LINES)  # of those that are not shown yet
        self.cut = 0  # bytes that were cut from the line which is not complete yet

    def events(self) -> list[Printed]:
        """Return the complete lines that have come."""
        events = list[Printed]()
        for line in self.lines.read():
            events += self._printed(line)
        self.cut += self.lines.shorten(PRINTED_BYTES)  # else 100 MB in one line would be copied again and again
        return events

    def _printed(self, line: bytes) -> list[Printed]:
        """Return a complete line, as far as it is shown; nothing if enough lines were shown for now."""
        cut = self.cut + len(line[PRINTED_BYTES:])
        self.cut = 0
        self.count += 1
        text = line[:PRINTED_BYTES].decode(errors="replace")
        event = Printed(f"{text} … ({cut:,} more bytes)" if cut else text)
        if self.count > PRINTED_LINES:
            self.last.append(event)
            return []
        return [event]

    def rest(self) -> list[Printed]:
        """Return the output that is left, also without an end of line: how many lines are left out, and the last."""
        events = list[Printed]()
        for _ in range(MOST_READS):
            if self.lines.is_open and select.select([self.lines.descriptor], [], [], 0)[0]:
                events += self.events()
        if unfinished := self.lines.take_rest():
            events += self._printed(unfinished)
        left_out = self.count - PRINTED_LINES - len(self.last)
        if left_out > 0:
            events.append(Printed(f"… and {left_out:,} more lines, then:"))
        return [*events, *self.last]
