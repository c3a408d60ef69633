"""What ``watch`` waits for: files that are saved, and keys that are pressed."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import select
import signal
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import watchfiles

GATHER_MS = 20  # a save is told when nothing more has happened for so long: editors write in several steps
LONGEST_GATHER_MS = 200


ESCAPE = re.compile(r"\x1b(\[[0-?]*[@-~]|O?.)?")  # an arrow, say: none of its characters was meant as a letter


class Saves:
    """The names of the files that change in a folder, gathered by a thread.

    The folder is watched, not a file: many editors replace a file by another of its name. ``descriptor`` is
    readable while there is something to take.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.descriptor, self._writer = os.pipe()
        os.set_blocking(self.descriptor, False)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        # Where the system has no notifications left to give (its limit of watches is reached), look regularly.
        for polling in (None, True):
            with contextlib.suppress(OSError, RuntimeError):
                for changes in watchfiles.watch(
                    self.folder,
                    watch_filter=None,
                    debounce=LONGEST_GATHER_MS,
                    step=GATHER_MS,
                    stop_event=self._stop,
                    force_polling=polling,
                    recursive=False,
                ):
                    for _, path in changes:
                        self.names.put(Path(path).name)
                    os.write(self._writer, b".")
            if self._stop.is_set():
                return

    def take(self) -> set[str]:
        """The names since the last time; does not wait."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.descriptor, 1 << 16)
        names = set()
        while not self.names.empty():
            names.add(self.names.get())
        return names

    def close(self) -> None:
        """Stop watching."""
        self._stop.set()
        self._thread.join(timeout=1)


class Keys:
    """The keys that are pressed, one by one and unechoed, while this is open; none without a terminal.

    ``descriptor`` is readable while there is a key to take.
    """

    def __init__(self) -> None:
        self.descriptor = sys.stdin.fileno()
        self._before = termios.tcgetattr(self.descriptor)
        tty.setcbreak(self.descriptor)
        # A shell that is returned to (Ctrl-Z) gives the terminal back as it likes it.
        self._resumed = signal.signal(signal.SIGCONT, self._resume)

    def _resume(self, signum: int, frame: FrameType | None) -> None:
        tty.setcbreak(self.descriptor)

    def take(self) -> str:
        """The keys since the last time, ``q`` when the terminal is gone; does not wait."""
        if not select.select([self.descriptor], [], [], 0)[0]:
            return ""
        try:
            keys = os.read(self.descriptor, 1024).decode(errors="replace")
        except OSError:
            keys = ""
        return ESCAPE.sub("", keys) if keys else "q"

    def close(self) -> None:
        """Leave the terminal as it was."""
        signal.signal(signal.SIGCONT, self._resumed)
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self.descriptor, termios.TCSADRAIN, self._before)


@contextlib.contextmanager
def keys_of_terminal() -> Iterator[Keys | None]:
    """The keys of the terminal, or None without one."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield None
        return
    keys = Keys()
    try:
        yield keys
    finally:
        keys.close()
