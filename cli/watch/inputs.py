"""The inputs of ``watch``: files that are saved, keys that are pressed, checks that have come to something."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import watchfiles

from cli.checking import Check

GATHER_MS = 20  # a save is reported once nothing has changed for this long: editors write in several steps
LONGEST_GATHER_MS = 200

ESCAPE = re.compile(r"\x1b(\[[0-?]*[@-~]|O?.)?")  # an arrow, say: none of its characters was meant as a letter


@dataclass(frozen=True)
class Saved:
    """Files that changed at about the same time."""

    names: frozenset[str]


@dataclass(frozen=True)
class Pressed:
    """One key."""

    key: str


Input = Saved | Pressed | Check
Inputs = queue.SimpleQueue[Input]


def take(inputs: Inputs, seconds: float = 0) -> Input | None:
    """Return the next input, or None when none has come within ``seconds``."""
    try:
        return inputs.get(timeout=seconds)
    except queue.Empty:
        return None


@contextlib.contextmanager
def saves_in(folder: Path, inputs: Inputs) -> Iterator[None]:
    """Put the names of the files that change in a folder into the queue, while this is open.

    The folder is watched, not a file: many editors replace a file by another of its name.
    """
    stop = threading.Event()

    def follow() -> None:
        with contextlib.suppress(OSError, RuntimeError):  # the system has no watches left; ``watch`` looks itself, too
            for changes in watchfiles.watch(
                folder,
                watch_filter=None,
                debounce=LONGEST_GATHER_MS,
                step=GATHER_MS,
                stop_event=stop,
                recursive=False,
            ):
                inputs.put(Saved(frozenset(Path(path).name for _, path in changes)))

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=1)


@contextlib.contextmanager
def keys_of_terminal(inputs: Inputs) -> Iterator[bool]:
    """Put the keys that are pressed into the queue, one by one and unechoed, while this is open.

    Yields:
        Whether there is a terminal; without one there are no keys.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield False
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def take_terminal(*_: object) -> None:
        tty.setcbreak(terminal)

    def read_keys() -> None:
        with contextlib.suppress(OSError):
            while keys := os.read(terminal, 1024).decode(errors="replace"):
                for key in ESCAPE.sub("", keys):
                    inputs.put(Pressed(key))
        inputs.put(Pressed("q"))  # the terminal is gone

    take_terminal()
    resumed = signal.signal(signal.SIGCONT, take_terminal)  # after Ctrl-Z and fg, a shell has changed its settings
    threading.Thread(target=read_keys, daemon=True).start()
    try:
        yield True
    finally:
        signal.signal(signal.SIGCONT, resumed)
        with contextlib.suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
