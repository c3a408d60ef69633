"""Versions of the learner's file: it is read with its version, and saved over that version or not at all.

The file on disk is the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

from checker.course.reading import NoSuchFile, Unreadable, as_text, read_bytes
from checker.course.steps import Step, relative_path
from checker.errors import UserError
from checker.files import digest, replace_learners_file
from cli.page.offers import WRITER

NONE = ""  # the version of a file that does not exist


@dataclass(frozen=True)
class VersionedText:
    """A learner's file: its text with plain line ends, and a name for exactly these bytes."""

    text: str
    version: str


class Conflict(Exception):
    """A ``text`` cannot be saved: the ``file`` is no longer the version that the text began from."""

    def __init__(self, file: VersionedText, text: str) -> None:
        super().__init__("the file was saved elsewhere")
        self.file, self.text = file, text


def read(step: Step) -> VersionedText:
    """Return the learner's file; if there is none, return an empty text without a version.

    Raises:
        UserError: the file is no text.
    """
    path = step.learner_file
    try:
        data = read_bytes(path)  # read once: a save may come between two reads
        return VersionedText(as_text(data), digest(data))
    except NoSuchFile:
        return VersionedText("", NONE)
    except Unreadable as error:
        raise UserError(f"{relative_path(path)}: {error.sentence_with(WRITER)}") from error


def save(step: Step, text: str, replaces: str) -> str:
    """Put ``text`` in place of the version ``replaces``; return the text's version.

    Raises:
        Conflict: the file is another version by now.
        UserError: the file is no text.
        OSError, UnicodeEncodeError: the text cannot be written.
    """
    data, now = text.encode(), read(step)
    if now.version != replaces:
        raise Conflict(now, text)
    replace_learners_file(step.learner_file, data)
    return digest(data)
