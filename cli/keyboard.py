"""The keys of a terminal, one by one, as they are pressed."""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator

ESC, BACKSPACE = "\x1b", ("\x7f", "\b")
SEQUENCE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O[A-Z])")  # an arrow, say: none of its characters is meant as a letter
GONE = "\x04"  # Ctrl-D, or the terminal is no longer there


@contextlib.contextmanager
def keys_of_terminal() -> Iterator[Callable[[], str] | None]:
    """Have the terminal give keys one by one and unechoed while this is open.

    Yields:
        A function that returns which were pressed, without waiting for any; None if there is no terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield None
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def read_keys() -> str:
        if not select.select([terminal], [], [], 0)[0]:
            return ""
        with contextlib.suppress(OSError):
            if keys := os.read(terminal, 1024).decode(errors="replace"):
                return SEQUENCE.sub("", keys)
        return GONE

    tty.setcbreak(terminal)
    try:
        yield read_keys
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
