"""The exit statuses of commands, and how one ends early without a traceback: by an error of its user, or a signal."""

from __future__ import annotations

import signal
import sys

PASSED = 0  # exit statuses: of a file that passes, or a command that has done what it was told
FAILED = 1
UNUSABLE = 2  # of a call that cannot be carried out
INTERRUPTED = 130  # of a program that Ctrl-C ended


class UserError(ValueError):
    """A call that cannot be carried out. A command prints the message after its own name, and exits with 2.

    It is a ValueError, as the refusals of solutions are, so that one ``except`` catches both.
    """


def exit_on_termination() -> None:
    """Let SIGTERM, and a terminal that is closed, raise SystemExit, so that all files and processes are closed.

    A signal that is ignored, as under ``nohup``, stays ignored.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: sys.exit(128 + number))
