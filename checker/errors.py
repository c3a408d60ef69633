"""How a command ends without a traceback before it has done its work: by an error of its user, or by a signal."""

from __future__ import annotations

import signal
import sys

INTERRUPTED = 130  # the exit status of a program that Ctrl-C ended


class UserError(ValueError):
    """What cannot be done, or what to do; a command prints it after its name, without a traceback, and exits with 2.

    It is a ValueError, as what solutions refuse is, so that one ``except`` meets both.
    """


def exit_on_termination() -> None:
    """Let SIGTERM, and a terminal that is closed, raise SystemExit, so that everything that is open is closed.

    What is ignored, as under ``nohup``, stays ignored.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: sys.exit(128 + number))
