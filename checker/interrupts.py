"""How a program ends before it has done its work: by Ctrl-C, even in the middle of a call into C++, or terminated."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

INTERRUPTED = 130  # the exit status of a program that Ctrl-C ended
PATIENCE = 1.2  # seconds that the exception of Ctrl-C has to close what is open


def exit_on_termination() -> None:
    """Let SIGTERM, and a terminal that is closed, raise SystemExit, so that everything that is open is closed."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))


@contextmanager
def ending_soon(say: Callable[[], None]) -> Iterator[None]:
    """While this is open, let Ctrl-C end the program with its exit status, whatever the program does.

    Python raises KeyboardInterrupt once a call into C++ has returned, which takes minutes while MAX compiles. So a
    thread waits for the number of the signal, which Python writes to a pipe at once, and ends the program in the middle
    of such a call. If the exception comes in time, it closes what is open first. Either way the program ends here,
    since MAX may take a second to leave Python.

    Args:
        say: called before the program ends.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    closed, ending = threading.Event(), threading.Lock()

    def end() -> None:
        ending.acquire()  # and never released: only one thread says something
        try:
            say()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(INTERRUPTED)

    def wait() -> None:
        while came := os.read(reading, 1):
            if came[0] == signal.SIGINT and not closed.wait(PATIENCE):
                end()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    try:
        yield
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        end()
    finally:
        closed.set()
        signal.set_wakeup_fd(before)
        os.close(writing)
        thread.join()
        os.close(reading)


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
