"""Ctrl-C where it would not come: where it is ignored, and while MAX compiles.

What ignores a signal passes that on to the programs it starts: ``nohup … &``, a job of a script, some CI runners.
Python leaves it so, and no KeyboardInterrupt ever comes; a shell cannot even set a trap. And where it does come, it
waits for a call of C++ to return, which takes minutes where MAX compiles.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

INTERRUPTED = 130  # the exit status of a program that Ctrl-C ended
SHOW_CURSOR = "\r\x1b[K\x1b[?25h"  # on an empty line; what shows progress has hidden it


def restore() -> None:
    """Let Ctrl-C end this program, and those that it starts from now on.

    Call it before ``max_adapter.runtime.prepare``, which puts a handler of its own in place of Python's.
    """
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def at_once(say: Callable[[], None]) -> Iterator[None]:
    """While this is open, let Ctrl-C end the program at once, even in the middle of a call of C++.

    A thread waits for the number of the signal, which Python writes where it is told to before it waits for anything.

    Args:
        say: what is called first.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def wait() -> None:
        while came := os.read(reading, 1):
            if came[0] == signal.SIGINT:
                if sys.stderr.isatty():
                    print(SHOW_CURSOR, end="", file=sys.stderr)
                say()
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(INTERRUPTED)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writing)
        thread.join()
        os.close(reading)
