"""Write files that are never seen half written, and keep a folder for one process."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from checker.course.steps import replacing


def write(file: Path, data: bytes) -> None:
    """Write a file so that whatever ends the program leaves the whole old one or the whole new one.

    Raises:
        OSError: the disk is full, say; the old file is as it was.
    """
    try:
        with replacing(file) as unfinished, unfinished.open("wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
    except OSError as error:
        error.filename = str(file)  # not that of the unfinished one
        raise


def require_writable(*files: Path | None) -> None:
    """Refuse files that could not be written in the end.

    Raises:
        ValueError: the folder of one is missing, or nothing may be written there; the message names it.
    """
    for file in filter(None, files):
        folder = file.absolute().parent
        if file.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise ValueError(f"{file} cannot be written; give a file in a folder that is there and may be written to")


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """While this is open, let no other process of this machine lock a folder, also once it is called otherwise.

    Yields:
        The open folder.

    Raises:
        BlockingIOError: another process has locked it.
    """
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield opened
    finally:
        os.close(opened)  # which unlocks it, as does the end of the process
