"""Signals end a command, even in the middle of a call into C++, or the processes of a server, in time.

Two tricks: ``wakeup``, Python writes the number of a signal to a pipe, which a thread reads; and ``importing``, a
handler looks in its stack for the importer.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType

PATIENCE = 1.2  # seconds that the exception of a signal has to close what is open

#: The signals that end a program: Ctrl-C, `kill`, and a terminal that is closed. By each, what users know it.
ENDINGS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}


def not_ignored() -> list[signal.Signals]:
    """Return the signals of :data:`ENDINGS` but those that a caller ignores, as ``nohup`` does SIGHUP."""
    return [number for number in ENDINGS if signal.getsignal(number) is not signal.SIG_IGN]


def is_importing(frame: FrameType | None) -> bool:
    """Return whether the code that runs in a frame is the import of a module, or was called by one."""
    return any(its.f_code.co_filename.startswith("<frozen importlib.") for its, _ in traceback.walk_stack(frame))


class Ending:
    """Ends this program by the first of the signals of :data:`ENDINGS` that comes.

    Args:
        tell: called before the program ends, with the name of the signal.

    Attributes:
        handlers: the former handlers of these signals.
        interrupted_by: the first signal that has raised an exception; None until one has.
        is_closed: set once all open contexts were closed in time.
        turn: taken by whoever ends the program, and never given back, so that only the first tells something.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self.handlers = {number: signal.getsignal(number) for number in not_ignored()}
        self.interrupted_by: int | None = None
        self.is_closed = threading.Event()
        self.turn = threading.Lock()

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: raise an exception, but not in an import, which MAX crashes of."""
        if is_importing(frame):
            self.end(number)
            return  # to what the first signal has begun
        if self.interrupted_by is None:
            self.interrupted_by = number
        raise KeyboardInterrupt

    def wait(self, descriptor: int) -> None:
        """Read the numbers of signals, to the end of the pipe; end the program if what is open takes long to close."""
        while data := os.read(descriptor, 1):
            number = data[0]
            if number in self.handlers and not self.is_closed.wait(PATIENCE):
                self.end(number)

    def end(self, number: int) -> None:
        """End the program, unless somebody does already."""
        if not self.turn.acquire(blocking=False):
            return
        try:
            self.tell(ENDINGS[signal.Signals(number)])
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(128 + number)


@contextmanager
def exiting_on_signals(tell: Callable[[str], None]) -> Iterator[None]:
    """While this is open, let a signal of :data:`ENDINGS` end the program with its status, whatever the program does.

    Python raises KeyboardInterrupt once a call into C++ has returned, which takes minutes while MAX compiles. So a
    thread waits for the number of the signal, which Python writes to a pipe at once, and ends the program in the middle
    of such a call. If the exception comes in time, it closes what is open first; while a module is imported there is
    none, since MAX crashes of it. Either way the program ends here, since MAX may take a second to leave Python.

    Args:
        tell: called before the program ends, with the name of the signal.
    """
    ending = Ending(tell)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    thread = threading.Thread(target=ending.wait, args=[reading], daemon=True)
    thread.start()
    try:
        for number in ending.handlers:
            signal.signal(number, ending.interrupt)
        yield
    except KeyboardInterrupt:
        for number in ending.handlers:
            signal.signal(number, signal.SIG_IGN)
        ending.end(ending.interrupted_by or signal.SIGINT)
    finally:
        for number, handler in ending.handlers.items():
            signal.signal(number, handler)
        ending.is_closed.set()
        signal.set_wakeup_fd(wakeup)
        os.close(writing)
        thread.join()
        os.close(reading)


@contextmanager
def putting_off_signals() -> Iterator[None]:
    """While this is open, let the signals of :data:`ENDINGS` wait, so that nothing is left half done."""
    if threading.current_thread() is not threading.main_thread():  # which alone is interrupted
        yield
        return
    came = list[int]()
    before = {number: signal.signal(number, lambda number, frame: came.append(number)) for number in not_ignored()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


@contextmanager
def noting_every_ctrl_c() -> Iterator[threading.Event]:
    """While this is open, let Ctrl-C set the event that is yielded, and do nothing else: what runs looks at it."""
    stopped = threading.Event()
    wakeup = signal.set_wakeup_fd(-1)  # with which exiting_on_signals would end the program
    before = signal.signal(signal.SIGINT, lambda number, frame: stopped.set())
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)


# ---------------------------------------------------------------- processes


def restore_default_signals() -> None:
    """Let a signal end this process wherever it is, which is right for a process that has nothing to finish.

    Python's own handler waits until a call into C++ returns, and its exception can crash MAX while it is imported.
    """
    start_tracker()
    for number in not_ignored():
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def raising_on_signals() -> Iterator[None]:
    """While this is open, let a signal raise an exception, at which ``subprocess`` ends what it runs."""
    if threading.current_thread() is not threading.main_thread():  # which alone has handlers
        yield
        return
    before = {number: signal.signal(number, _raise_exception) for number in not_ignored()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _raise_exception(number: int, frame: object) -> None:
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


def start_tracker() -> None:
    """Start the process that removes our semaphores, out of reach of a signal to the group.

    Python starts it when it is needed, and then lets through what :func:`blocking_signals` blocks.
    """
    with blocking_signals():
        resource_tracker.ensure_running()


@contextmanager
def blocking_signals() -> Iterator[None]:
    """While this is open, let signals wait, and start processes that no signal but SIGKILL will ever reach."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
