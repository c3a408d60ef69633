"""How a program ends before it has done its work: its exit status after Ctrl-C, and what SIGTERM does."""

from __future__ import annotations

import signal
import sys

INTERRUPTED = 130  # the exit status of a program that Ctrl-C ended


def exit_on_termination() -> None:
    """Let SIGTERM, and a terminal that is closed, raise SystemExit, so that everything that is open is closed.

    What is ignored, as under ``nohup``, stays ignored.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: sys.exit(128 + number))
