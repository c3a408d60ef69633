"""Listen to a child: the events of its pipe and the lines of its output, within the time that each may take."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Iterator

from checker.events import Compiling, Died, Ended, Event, Late, Printed, Tick, decode

#: Seconds without an event of a learner's file, while nothing is being compiled; tests shorten it.
QUIET_SECONDS = float(os.environ.get("COURSE_QUIET_SECONDS", "10"))
COMPILE_SECONDS = 900.0  # for one thing that MAX compiles
START_SECONDS = 120.0  # for importing MAX from a cold disk
TICK_SECONDS = 0.05  # ``watch`` looks for saves and keys this often
PRINTED_LINES = 200  # of the learner's own output
PRINTED_BYTES = 10_000  # of one such line


class _Lines:
    """The complete lines that have come out of a pipe; of each, no more than ``longest`` bytes."""

    def __init__(self, descriptor: int, longest: int | None = None) -> None:
        self.descriptor = descriptor
        self.longest = longest
        self.rest = b""
        self.open = True

    def read(self) -> list[bytes]:
        data = os.read(self.descriptor, 1 << 16)
        if not data:
            self.open = False
            lines, self.rest = ([self.rest] if self.rest else []), b""
        else:
            *lines, self.rest = (self.rest + data).split(b"\n")
        self.rest = self.rest[: self.longest]  # else 100 MB without an end of line would be copied again and again
        return [line[: self.longest] for line in lines]


def listen(pipe: int, output: int, quiet_seconds: float, started: bool) -> Iterator[Event]:
    """Yield what a child says and prints, and a ``Tick`` several times per second.

    Args:
        pipe: the descriptor of its events.
        output: the descriptor of its standard output.
        quiet_seconds: seconds without an event until it is late, while nothing is being compiled.
        started: whether it has been heard before; at its start it may take longer.
    """
    told, printed, compiling = _Lines(pipe), 0, False
    with selectors.DefaultSelector() as selector:
        lines = {pipe: told, output: _Lines(output, PRINTED_BYTES)}
        for descriptor in lines:
            selector.register(descriptor, selectors.EVENT_READ)
        heard = time.monotonic()
        while told.open:
            for key, _ in selector.select(timeout=TICK_SECONDS):
                source = lines[key.fd]
                for line in source.read():
                    if source is not told:
                        printed += 1
                        if printed <= PRINTED_LINES:
                            yield Printed(line.decode(errors="replace"))
                        continue
                    event = decode(line)
                    if event is None:
                        continue
                    heard, started = time.monotonic(), True
                    if isinstance(event, Compiling):
                        compiling = event.seconds is None
                    yield event
                    if isinstance(event, Ended):
                        return
                if not source.open:
                    selector.unregister(key.fd)
            limit = COMPILE_SECONDS if compiling else quiet_seconds if started else START_SECONDS
            if time.monotonic() - heard > limit:
                yield Late(limit, "")
                return
            yield Tick()
    yield Died()
