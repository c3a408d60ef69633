"""A terminal that a test or a benchmark sits at: types keys, and reads what a program shows."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """End a process that a test has started, whatever becomes of the test."""
    with process:
        try:
            yield process
        finally:
            process.kill()


class Terminal:
    """A program of the course, ``python ARGUMENTS``, in a terminal of so many ``columns``."""

    def __init__(self, course: Path, *arguments: str, columns: int = 100) -> None:
        self.screen, self.inside = pty.openpty()
        fcntl.ioctl(self.inside, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        environment = os.environ | {"TERM": "xterm", "PYTHONPATH": str(course)}
        environment.pop("COLUMNS", None)
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=course,
            env=environment,
            stdin=self.inside,
            stdout=self.inside,
            stderr=self.inside,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # Ctrl-C typed here is a signal to it
        )
        self._unread = ""

    def expect(self, words: str, seconds: float = 60) -> str:
        """Read until ``words`` appear; what was shown since the last time, up to them and without colour.

        Raises:
            AssertionError: they do not appear in time, or the program ends first.
        """
        deadline = time.monotonic() + seconds
        while (shown := CONTROL.sub("", self._unread)).find(words) < 0:
            ended = self.process.poll() is not None
            if not self._read(0 if ended else min(0.5, deadline - time.monotonic())) and ended:
                raise AssertionError(f"it ended without showing {words!r}, but:\n{shown}")
            if time.monotonic() > deadline:
                raise AssertionError(f"it did not show {words!r} within {seconds} s, but:\n{shown}")
        before, _, self._unread = shown.partition(words)
        return before + words

    def rest(self, seconds: float = 60) -> str:
        """What is shown until the program ends, without colour."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < deadline:
            self._read(0.05)
        while self._read(0):
            pass
        self.process.wait(timeout=1)
        shown, self._unread = CONTROL.sub("", self._unread), ""
        return shown

    def _read(self, seconds: float) -> bool:
        if not select.select([self.screen], [], [], max(0, seconds))[0]:
            return False
        self._unread += os.read(self.screen, 1 << 16).decode(errors="replace").replace("\r\n", "\n")
        return True

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self.screen, keys.encode())

    def settings(self) -> list[object]:
        """How the terminal treats keys: whether it waits for whole lines, whether it shows them."""
        return termios.tcgetattr(self.inside)

    def set(self, settings: list[object]) -> None:
        """Treat keys as ``settings`` say, as a shell does that takes the terminal back."""
        termios.tcsetattr(self.inside, termios.TCSANOW, settings)  # type: ignore[arg-type]

    def close(self) -> None:
        """End the program, if it has not ended, and the terminal."""
        self.process.terminate()
        self.process.wait(timeout=60)
        os.close(self.inside)
        os.close(self.screen)
