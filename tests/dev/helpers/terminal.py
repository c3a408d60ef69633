"""Programs that tests start: in a terminal that a test sits at, or beside it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
UNFINISHED = re.compile(r"\x1b(\[[0-9;?]*)?$|\r$")


@contextlib.contextmanager
def started(
    folder: Path, *arguments: object, by: tuple[str, ...] = (), errors: int = subprocess.PIPE, **variables: str
) -> Iterator[subprocess.Popen[str]]:
    """Start ``python ARGUMENTS``, or have another program start it, in a process group of its own.

    Whatever becomes of the test, the group is ended.
    """
    command = [*by, sys.executable, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"} | variables
    streams: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors, "text": True}
    with subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **streams) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


class Terminal(pexpect.spawn):
    """A program of the course, ``python ARGUMENTS``, in a terminal of so many ``columns``, read without colors."""

    def __init__(self, course: Path, *arguments: str, columns: int = 100) -> None:
        environment = os.environ | {"TERM": "xterm", "PYTHONPATH": str(course)}
        environment.pop("COLUMNS", None)
        self.held_back = ""
        shown: Any = {"dimensions": (50, columns), "encoding": "utf-8", "codec_errors": "replace"}
        super().__init__(sys.executable, list(arguments), cwd=str(course), env=environment, **shown)

    def read_nonblocking(self, size: int = 1, timeout: float | None = -1) -> str:
        """Read what the program shows, without the codes that color it and move the cursor."""
        shown = self.held_back + super().read_nonblocking(size, timeout)
        cut = UNFINISHED.search(shown)
        self.held_back = shown[cut.start() :] if cut else ""
        return CONTROL.sub("", shown.removesuffix(self.held_back)).replace("\r\n", "\n")

    def expect(self, words: str, seconds: float = 60) -> str:  # type: ignore[override]
        """Read until ``words`` appear; return what was shown since the last time, up to them.

        Raises:
            pexpect.TIMEOUT, pexpect.EOF: they do not appear in time, or the program ends first.
        """
        self.expect_exact(words, timeout=seconds)
        return str(self.before) + words

    def rest(self, seconds: float = 60) -> str:
        """Read until the program ends; return what was shown."""
        self.expect_exact(pexpect.EOF, timeout=seconds)
        self.wait()
        return str(self.before)

    def close(self, force: bool = True) -> None:
        """Close the terminal, and wait for the end of its program, which on a busy machine takes more than a moment."""
        try:
            super().close(force)
        except pexpect.ExceptionPexpect:  # it has been sent SIGKILL, and was still there a tenth of a second later
            self.wait()
            super().close(force)
