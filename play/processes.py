"""How the processes of a server end: at a signal, in time, and with nothing left behind."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

from play.ending import ENDINGS, not_ignored

LONGEST_ADDRESS = 107  # characters of a socket's path


def end_at_once() -> None:
    """Let a signal end this process wherever it is, which is right as long as it has nothing to finish.

    Python's own handler waits until a call into C++ returns, and its exception can crash MAX while it is imported.
    """
    start_tracker()
    for number in not_ignored():
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def ended_by_exceptions() -> Iterator[None]:
    """While this is open, let a signal raise an exception, at which ``subprocess`` ends what it runs."""
    if threading.current_thread() is not threading.main_thread():  # which alone has handlers
        yield
        return
    before = {number: signal.signal(number, _raise) for number in not_ignored()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _raise(number: int, frame: object) -> None:
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


def start_tracker() -> None:
    """Start the process that removes our semaphores, out of reach of a signal to the group.

    Python starts it when it is needed, and then lets through what :func:`signals_blocked` blocks.
    """
    with signals_blocked():
        resource_tracker.ensure_running()


@contextmanager
def signals_blocked() -> Iterator[None]:
    """While this is open, let signals wait, and start processes that no signal but SIGKILL will ever reach."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def temporary_folder(room: int) -> Iterator[str]:
    """While this is open, keep temporary files, also those of new processes, in a folder that is removed at the end.

    Args:
        room: characters that the path of a socket in it needs behind that of the folder.
    """
    variable, default = os.environ.get("TMPDIR"), tempfile.gettempdir()
    place = default if len(f"{default}/gpt2-12345678") + room <= LONGEST_ADDRESS else "/tmp"
    with tempfile.TemporaryDirectory(prefix="gpt2-", dir=place, ignore_cleanup_errors=True) as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        try:
            yield folder
        finally:
            tempfile.tempdir = default
            os.environ.pop("TMPDIR")
            if variable is not None:
                os.environ["TMPDIR"] = variable
