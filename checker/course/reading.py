"""Read a file; say why one cannot be read, and name a place in it."""

from __future__ import annotations

import codecs
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from checker.course.source import Source

MOST_BYTES = 1_000_000  # of a file; a step has a few thousand


@dataclass(frozen=True)
class Location:
    """A place in a learner's file, and what a verdict shows there.

    Attributes:
        line: its number, counted from 1.
        code: the text of the line, if it is to be shown.
        column: where in the code an error is, counted from 0, if that is to be shown.
        instead: the code to write instead, if it is known, in the line ``instead_line``.
        more: further lines to show: others of the same kind, or the calls that led there.
    """

    line: int
    code: str = ""
    column: int | None = None
    instead: str = ""
    instead_line: int = 0
    more: Sequence[str] = ()

    def as_lines(self) -> list[str]:
        """Return the place as a verdict shows it, line by line."""
        if self.column is not None:
            return [self.code, " " * self.column + "^"]
        head = f"line {self.line}"
        lines = [f"{head}: {self.code}"] if self.code else []
        if self.instead:
            is_same = self.code and self.instead_line == self.line
            lines.append(f"{'write' if is_same else f'write in line {self.instead_line}':>{len(head)}}: {self.instead}")
        return [*lines, *self.more]


def location_in(lines: Sequence[str], number: int) -> Location | None:
    """Return the place of a line, counted from 1, among the lines of a file; None if it is none of them."""
    return Location(number, lines[number - 1].strip()) if 0 < number <= len(lines) else None


@dataclass(eq=False)
class Unreadable(Exception):
    """A file that cannot be checked: a sentence that ends with what to do.

    Attributes:
        sentence: the reason.
        short: the reason in a few words, for a list.
        what_writer_does: the end of the sentence, if another file is to take the place of this one: ``writes it anew``.
        location: the place in the file, if the reason is one line.
        refuted: the claim that does not hold, if the file could be read: ``The file is Python.``
        source: its text, if the file could be read.
    """

    sentence: str
    short: str = "cannot be read"
    what_writer_does: str = field(default="", kw_only=True)
    location: Location | None = field(default=None, kw_only=True)
    refuted: str = field(default="", kw_only=True)
    source: Source | None = field(default=None, kw_only=True)

    def __str__(self) -> str:
        """Return the sentence as a terminal prints it."""
        return self.sentence_with("`./run skeletons`")

    def sentence_with(self, writer: str) -> str:
        """Return the whole sentence; ``writer`` is the command or the button that writes another file."""
        return f"{self.sentence} {writer} {self.what_writer_does}." if self.what_writer_does else self.sentence


class NoSuchFile(Unreadable):
    """There is no such file."""


def read_text(path: Path) -> str:
    """Return the text of a file, with plain line ends.

    Raises:
        Unreadable: there is no such file, or it is not text.
    """
    return as_text(read_bytes(path))


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file; nothing is waited for, as a pipe in its place would have it.

    Raises:
        Unreadable: there is no such file, or it is too large.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder, not a file" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise Unreadable(f"This is {kind}. Move it away;", "not a file", what_writer_does="writes the file anew")
        if status.st_size > MOST_BYTES:
            size = f"{status.st_size:,} bytes, and a step has a few thousand"
            raise Unreadable(f"The file has {size}. Is it the right file?", "too large")
        return path.read_bytes()
    except FileNotFoundError:
        raise NoSuchFile("The file is missing.", what_writer_does="writes it anew") from None
    except OSError as error:  # a circular link, a file that may not be read
        reason = (error.strerror or str(error)).lower()
        raise Unreadable(
            f"The file cannot be read: {reason}. Move it away;", what_writer_does="writes it anew"
        ) from None


def as_text(data: bytes) -> str:
    """Return the text of bytes in UTF-8, with plain line ends, and without the byte order mark that some editors write.

    Raises:
        Unreadable: the bytes are not text.
    """
    if why := why_not_utf8(data):
        raise Unreadable(f"The file is not UTF-8 text: {why}. Save it as UTF-8.", "not UTF-8 text")
    return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def why_not_utf8(data: bytes) -> str:
    """Return in words why bytes are no text in UTF-8; nothing if they are one."""
    if is_utf16(data):
        return "it is UTF-16, as PowerShell writes it"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"byte {error.start} is {data[error.start]:#04x}"
    return ""


def is_utf16(data: bytes) -> bool:
    """Return whether bytes begin as a text in UTF-16 does."""
    return data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
