"""Close what is open when a process is terminated, and have a process end with the one that started it.

A process that runs a learner's code must end with its parent, though it may be compiling for minutes.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import threading

INTERRUPTED = 130  # the exit status of a program that Ctrl-C ended


def exit_on_termination() -> None:
    """Let SIGTERM, and a terminal that is closed, raise SystemExit, so that everything that is open is closed."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))


def end_with_the_parent(descriptor: int) -> None:
    """End this process, and all that it has started, once the other end of a pipe is closed.

    A parent that is killed cannot end it, and MAX may be compiling for minutes. If it is a pipe from which nothing is
    read any more, Linux itself ends this process, by SIGIO, even in code that holds Python's lock.
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
