"""The learner's file as the page has it: read with its version, saved over the version it began from or not at all.

The file on disk is the truth. What a save replaces is kept in ``.course/saved``, the newest of each step.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from checker.course import progress
from checker.course.paths import ROOT, relative_path, replacing
from checker.course.static import Missing, Unreadable, read_text
from checker.course.steps import Step

KEPT = 20  # replaced versions of each step
NONE = ""  # the version of a file that does not exist


class Rejected(Exception):
    """A file that is no text; the message says why, and what to do."""


class Conflict(Exception):
    """The file is no longer the version that was to be replaced."""


@dataclass(frozen=True)
class File:
    """A learner's file: its text with plain line ends, and a name for exactly these bytes."""

    text: str
    version: str


def read(step: Step) -> File:
    """Return the learner's file; an empty one of no version where there is none.

    Raises:
        Rejected: it is no text.
    """
    path = step.learner_file
    try:
        return File(read_text(path).replace("\r\n", "\n"), progress.digest(path.read_bytes()))
    except Missing:
        return File("", NONE)
    except Unreadable as error:
        raise Rejected(f"{relative_path(path)}: {error}") from error


def expect(step: Step, version: str) -> None:
    """Raise an error unless the file is this version.

    Raises:
        Conflict: it is another one by now.
        Rejected: it is no text.
    """
    if read(step).version != version:
        raise Conflict


def save(step: Step, text: str, replaces: str) -> str:
    """Put ``text`` in place of the version ``replaces``, with the line ends that the file has; return its version.

    Raises:
        Conflict, Rejected: as :func:`expect`; nothing was written.
        OSError, UnicodeEncodeError: it cannot be written.
    """
    expect(step, replaces)
    path = step.learner_file.resolve()
    before = path.read_bytes() if replaces else b""
    data = (text.replace("\n", "\r\n") if b"\r\n" in before else text).encode()
    if before not in (b"", data):
        _keep(path)
    with replacing(path) as new:
        new.write_bytes(data)
        if replaces:
            shutil.copymode(path, new)
    return progress.digest(data)


def _keep(path: Path) -> None:
    """Keep a file that is about to be replaced, and the newest that were kept before."""
    folder = ROOT / ".course" / "saved" / path.stem
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, folder / f"{time.time_ns()}{path.suffix}")
    for old in sorted(folder.glob(f"*{path.suffix}"))[:-KEPT]:
        old.unlink()
