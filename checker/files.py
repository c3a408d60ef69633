"""Files that are written whole or not at all, and compiled files, which are kept for as long as somebody uses them."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from checker.errors import UserError

ROOT = Path(__file__).resolve().parents[1]  # of the repository
UNFINISHED = ".unfinished"  # ends the name of a file that is being written
UNUSED_SECONDS = 30 * 24 * 3600  # after which a compiled file is removed


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a file to write, which becomes ``path`` at the end: another process sees the old file or the new one.

    Raises:
        OSError: the new file cannot be written; the old one is as it was.
    """
    unfinished = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def replace_learners_file(path: Path, data: bytes) -> None:
    """Put other contents in a learner's file, whole or not at all: a link stays one, and the file keeps its mode.

    Raises:
        OSError: the file cannot be written; it is as it was.
    """
    path = path.resolve()
    with replacing(path) as new:
        new.write_bytes(data)
        if path.is_file():
            shutil.copymode(path, new)


def write_durably(file: Path, data: bytes) -> None:
    """Write a file so that whatever ends the program leaves the whole old file or the whole new one.

    Raises:
        OSError: the disk is full, say; the old file is as it was.
    """
    try:
        with replacing(file) as unfinished, unfinished.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        error.filename = str(file)  # not that of the unfinished one
        raise


def require_writable(*files: Path | None) -> None:
    """Refuse files to which a command could not write its results.

    Raises:
        UserError: the folder of a file is missing, or nothing may be written there; the message names the file.
    """
    for file in filter(None, files):
        folder = file.absolute().parent
        if file.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise UserError(f"{file} cannot be written; give a file in a folder that is there and may be written to")


def saved_at(file: Path) -> float:
    """Return when a file was written last; 0, if somebody has just removed it."""
    with suppress(OSError):
        return file.stat().st_mtime
    return 0.0


def use_if_kept(file: Path) -> bool:
    """Return whether a compiled file is there; if it is, note that it is used now."""
    if not file.is_file():
        return False
    with suppress(OSError):  # where nothing may be written, nothing is removed either
        os.utime(file)
    return True


def remove_unused(folder: Path, names: str) -> None:
    """Remove the compiled files of a folder that fit a pattern and that nobody has used for a long time.

    Unfinished files, which a process has left that was killed, are removed with them.
    """
    for file in [*folder.glob(names), *folder.glob(f"{names}.*{UNFINISHED}")]:
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > UNUSED_SECONDS:
                file.unlink()


def digest(*parts: str | bytes) -> str:
    """Return a short name of some contents: equal contents have equal names, others have others."""
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        hasher.update(len(data).to_bytes(8, "big") + data)
    return hasher.hexdigest()[:32]
