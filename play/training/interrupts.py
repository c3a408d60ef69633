"""Make Ctrl-C work where it would not: while MAX compiles, and while something is half done.

Python raises KeyboardInterrupt once a call into C++ has returned, which takes minutes while MAX compiles.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from checker.interrupts import INTERRUPTED

SHOW_CURSOR = "\r\x1b[K\x1b[?25h"  # on an empty line; a progress bar has hidden it


@contextmanager
def put_off() -> Iterator[None]:
    """While this is open, let Ctrl-C wait: for what must not be left half done."""
    if threading.current_thread() is not threading.main_thread():  # which alone is interrupted
        yield
        return
    came = list[int]()
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def at_once(say: Callable[[], None]) -> Iterator[None]:
    """While this is open, let Ctrl-C end the program at once, even in the middle of a call into C++.

    A thread waits for the number of the signal, which Python writes to a pipe at once, whatever else it waits for.

    Args:
        say: called before the program ends.
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
