"""Make Ctrl-C work where it would not: where it is ignored, while MAX compiles, and while something is half done.

A program that ignores a signal passes that on to the programs it starts: ``nohup … &``, a background job of a script,
some CI runners. Python leaves it that way, so no KeyboardInterrupt is ever raised; a shell cannot even set a trap.
Where it is raised, it waits for a call into C++ to return, which takes minutes while MAX compiles.

A process that runs a learner's code must end with the one that started it, too.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

INTERRUPTED = 130  # the exit status of a program that Ctrl-C ended
SHOW_CURSOR = "\r\x1b[K\x1b[?25h"  # on an empty line; a progress bar has hidden it


def restore() -> None:
    """Let Ctrl-C end this program, and those that it starts from now on.

    Call it before ``max_adapter.runtime.prepare``, which puts a handler of its own in place of Python's.
    """
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def exit_on_termination() -> None:
    """Let SIGTERM, and a terminal that is closed, raise SystemExit, so that everything that is open is closed."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))


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
