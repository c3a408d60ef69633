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
from functools import partial

ESC = "\x1b"
SEQUENCE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O[A-Z])")  # an arrow key, say, whose characters are no letters
BEGUN = re.compile(r"\x1b(\[[0-?]*[ -/]*|O)?\Z")  # the beginning of a sequence, or Esc alone
REST_SECONDS = 0.05  # for the rest of a sequence to come: no terminal takes longer, and nobody notices it after Esc
GONE = "\x04"  # Ctrl-D; it also stands for a terminal that is gone


@contextlib.contextmanager
def keys_of_terminal() -> Iterator[Callable[[], str] | None]:
    """While this is open, have the terminal give keys one by one, and echo none.

    Yields:
        A function that returns the keys which were pressed, without waiting for one; None if there is no terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield None
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    try:
        yield partial(_read_keys, terminal)
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _read_keys(terminal: int) -> str:
    """Return the keys of a terminal that were pressed; wait only for the rest of a sequence that has begun."""
    keys, seconds = "", 0.0
    while select.select([terminal], [], [], seconds)[0]:
        new_keys = _read_terminal(terminal)
        keys += new_keys or GONE
        if not (new_keys and BEGUN.search(keys)):
            break
        seconds = REST_SECONDS
    return SEQUENCE.sub("", keys)


def _read_terminal(terminal: int) -> str:
    """Return the characters that a terminal has sent; nothing if the terminal is gone."""
    with contextlib.suppress(OSError):
        return os.read(terminal, 1024).decode(errors="replace")
    return ""
