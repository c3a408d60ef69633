"""How a command ends early without a traceback: by an error of its user, or by a signal."""

from __future__ import annotations

import signal
import sys

INTERRUPTED = 130  # the exit status of a program that Ctrl-C ended


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
