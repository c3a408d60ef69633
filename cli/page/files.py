"""The learner's file as the page has it: read with its version, saved over the version it began from or not at all.

The file on disk is the truth. A save writes a new file beside it and puts that in its place, so a reader never sees
half, whenever this process ends. What is replaced is kept in ``.course/saved``, the newest of each step.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from checker.course import progress
from checker.course.paths import ROOT, relative_path, replacing
from checker.course.static import MOST_BYTES, Missing, Unreadable, read_text
from checker.course.steps import Step

KEPT = 20  # replaced versions of each step
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
NONE = ""  # the version of a file that does not exist

_saving = threading.Lock()


class Rejected(Exception):
    """A file that is not read or written here; the message says why, and what to do."""


class Conflict(Exception):
    """The file is no longer the version that a save was to replace."""


@dataclass(frozen=True)
class File:
    """A learner's file: its text with plain line ends, and a name for exactly these bytes."""

    text: str
    version: str


def read(step: Step) -> File:
    """Return the learner's file; an empty one of no version where there is none.

    Raises:
        Rejected: it is no text, or lies elsewhere.
    """
    path = _own(step)
    try:
        return File(_with_plain_line_ends(read_text(path)), version(path))
    except Missing:
        return File("", NONE)
    except Unreadable as error:
        raise Rejected(f"{relative_path(path)}: {error}") from error


def version(path: Path) -> str:
    """Return a name for the bytes of a file."""
    try:
        return progress.digest(path.read_bytes())
    except FileNotFoundError:
        return NONE


def save(step: Step, text: str, replaces: str) -> File:
    """Put ``text`` in place of the version ``replaces``, with the line ends and the mark that the file has.

    Raises:
        Conflict: the file is another version by now; nothing was written.
        Rejected: the file lies elsewhere, or the text cannot be one.
        OSError: it cannot be written.
    """
    path = _own(step)
    with _saving:
        before = path.read_bytes() if path.exists() else b""
        try:
            data = _preserve_line_endings(before, text)
        except UnicodeEncodeError as error:
            raise Rejected(f"the text cannot be saved as UTF-8: {error.reason}") from error
        if len(data) > MOST_BYTES:
            raise Rejected(f"the text has {len(data):,} bytes, and a step has a few thousand")
        if version(path) != replaces:
            raise Conflict
        if replaces not in (NONE, progress.digest(data)):
            _keep(path)
        with replacing(path) as new:
            new.write_bytes(data)
            if path.exists():
                shutil.copymode(path, new)
        return File(text, version(path))


def changing(step: Step, replaces: str, change: Callable[[], None]) -> File:
    """Have something else change the file, if it still is the version ``replaces``.

    Raises:
        Conflict, Rejected: as :func:`save`.
    """
    path = _own(step)
    with _saving:
        if version(path) != replaces:
            raise Conflict
        change()
    return read(step)


def _own(step: Step) -> Path:
    """Return the path of a learner's file that is a file of ``steps/``, by no link.

    Raises:
        Rejected: it leads elsewhere.
    """
    path = step.learner_file
    if path.is_symlink() or path.parent.is_symlink():
        raise Rejected(f"{relative_path(path)} is a link, or lies in one, and the page follows none. Use the terminal.")
    return path


def _with_plain_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _preserve_line_endings(before: bytes, text: str) -> bytes:
    """Return the bytes of a text with the line ends and the byte order mark that a file has."""
    plain = _with_plain_line_ends(text)
    data = (plain.replace("\n", "\r\n") if b"\r\n" in before else plain).encode()
    return BYTE_ORDER_MARK + data if before.startswith(BYTE_ORDER_MARK) else data


def _keep(path: Path) -> None:
    """Keep a file that is about to be replaced, and the newest that were kept before."""
    folder = ROOT / ".course" / "saved" / path.stem
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, folder / f"{time.time_ns()}{path.suffix}")
    for old in sorted(folder.glob(f"*{path.suffix}"))[:-KEPT]:
        old.unlink()
