"""A process and one that it has started: messages between them, each a line of JSON, and how the child is ended.

The child receives messages on standard input and sends its own on standard output. Whatever else the child prints, by a
library or by a learner's code, goes to standard error, which the parent may read or drop.

A trick, ``SIGIO``: by this signal Linux ends the child once the parent is gone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from checker.files import ROOT

MOST_BYTES = 8_000_000  # of a message
CAN_LOOK_WITHOUT_REAPING = hasattr(os, "waitid")  # not on macOS before Python 3.13

Message = dict[str, Any]


class Lines:
    """The complete lines that come out of a pipe."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.line = b""  # the last one, which is not complete yet
        self.is_open = True

    def read(self) -> list[bytes]:
        """Wait until something comes, and return the lines that are complete then."""
        data = os.read(self.descriptor, 1 << 16)
        self.is_open = bool(data)
        *lines, self.line = (self.line + data).split(b"\n")
        if not self.is_open and self.line:
            lines.append(self.take_rest())
        return lines

    def shorten(self, most: int) -> int:
        """Cut the line that is not complete yet to ``most`` bytes; return how many are lost."""
        lost = max(0, len(self.line) - most)
        self.line = self.line[:most]
        return lost

    def take_rest(self) -> bytes:
        """Take out the line that is not complete yet; it is empty if there is none."""
        rest, self.line = self.line, b""
        return rest


class StartedProcess:
    """A process that was started to work for this one, in a group of its own.

    Args:
        command: the command that starts it.
        printed: where its output goes: a file, ``subprocess.PIPE`` or ``DEVNULL``; None is where this process prints.
    """

    def __init__(self, command: Sequence[str], printed: int | IO[str] | None = subprocess.DEVNULL) -> None:
        self.popen = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=printed, start_new_session=True
        )
        assert self.popen.stdout is not None
        self.lines = Lines(self.popen.stdout.fileno())
        self.waiting: list[bytes] = []  # lines that have come, and that nobody has asked for yet
        self.turn = threading.RLock()  # held by whoever signals the process or reaps it

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self.status is None

    @property
    def status(self) -> int | None:
        """The exit status, or minus the number of the signal that has ended the process; None while it is alive.

        A process that has ended is not reaped here: until it is, no other process can get its number.
        """
        if not CAN_LOOK_WITHOUT_REAPING or self.popen.returncode is not None:
            return self.popen.poll()
        try:
            ended = os.waitid(os.P_PID, self.popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # another thread has just reaped it
            return 0
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def ended_by(self, seconds: float) -> str:
        """Return the name of the signal that has ended the process; nothing if it exited, or is still alive then."""
        deadline = time.monotonic() + seconds
        while self.is_alive and time.monotonic() < deadline:
            time.sleep(0.01)
        status = self.status
        if status is None or status >= 0:
            return ""
        with contextlib.suppress(ValueError):
            return signal.Signals(-status).name
        return f"signal {-status}"  # a signal without a name

    def send(self, message: Mapping[str, Any]) -> None:
        """Send the process a message; if it has ended, the message is lost."""
        assert self.popen.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):  # it has ended, or another thread has stopped it
            self.popen.stdin.write(json.dumps(message).encode() + b"\n")
            self.popen.stdin.flush()  # the pipe stays open for as long as this process lives

    def receive(self, seconds: float | None = None) -> Message | None:
        """Return the next message; None if the process has ended, sends no message, or sends none for ``seconds``."""
        deadline = None if seconds is None else time.monotonic() + seconds
        with contextlib.suppress(OSError, ValueError):  # another thread has stopped it
            while not self.waiting and self.lines.is_open and len(self.lines.line) < MOST_BYTES:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                if not select.select([self.lines.descriptor], [], [], left)[0]:
                    return None
                self.waiting += self.lines.read()
        return message_of(self.waiting.pop(0)) if self.waiting else None

    def send_signal(self, number: int) -> None:
        """Send the process a signal, from any thread; not once it is reaped, when another may have its number."""
        with self.turn:
            if self.popen.returncode is None:
                os.kill(self.popen.pid, number)

    def kill(self) -> None:
        """End the process and all that it started, from any thread; do nothing once it has been stopped."""
        assert self.popen.stdout is not None
        with self.turn:
            if not self.popen.stdout.closed:
                kill_group(self.popen.pid)

    def stop(self) -> None:
        """End the process and all that it started, and close the pipes to it. A second call does nothing."""
        with self.turn:
            self.kill()
            with contextlib.suppress(BrokenPipeError), self.popen:  # this waits for it, and closes its pipes
                pass


def kill_group(leader: int) -> None:
    """End a process that leads a group of its own, and all that it started; do nothing once they have ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: of a group that has ended
        os.killpg(leader, signal.SIGKILL)


class ParentProcess:
    """The process that has started this one, seen from here. Once it is made, no printed line is a message any more."""

    def __init__(self) -> None:
        self.descriptor = os.dup(1)
        sys.stdout.flush()
        os.dup2(2, 1)
        self.turn = threading.Lock()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send the parent a message; several threads may do so."""
        line = json.dumps(message).encode() + b"\n"
        with self.turn:
            while line:
                written = os.write(self.descriptor, line)
                line = line[written:]

    def messages(self) -> Iterator[Message]:
        """Yield the parent's messages, until it sends no more."""
        for line in sys.stdin:
            yield json.loads(line)


def message_of(line: bytes) -> Message | None:
    """Return the message on a line, or None if there is none."""
    with contextlib.suppress(ValueError):
        message = json.loads(line)
        if isinstance(message, dict):
            return message
    return None


def end_with_parent(descriptor: int) -> None:
    """End this process, and all that it has started, once the parent's end of a pipe is closed.

    A parent that is killed cannot end its child, which may let MAX compile for minutes. If this process reads nothing
    more from the pipe, Linux itself ends it, by SIGIO, even in code that holds Python's lock.
    """
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    if sys.platform == "linux" and flags & os.O_ACCMODE == os.O_RDONLY:
        fcntl.fcntl(descriptor, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_ASYNC)

    def wait() -> None:
        pipe = select.poll()
        pipe.register(descriptor, 0)  # poll always reports that the other end was closed
        pipe.poll()
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()
