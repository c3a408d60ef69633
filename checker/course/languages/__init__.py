"""The languages that the file of a step can be written in, as far as a file is read without running it.

In comes the text of a file; out go its functions and their lines, what it means, what is still to write.
``course`` imports it, and whatever else reads a learner's file; it imports nothing of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from checker.course.languages.mojo import Mojo
    from checker.course.languages.python import Python

Language: TypeAlias = "Python | Mojo"


@dataclass(frozen=True)
class Location:
    """A place in a learner's file, and what is known of it.

    Attributes:
        line: the line that something is about, from 1.
        code: that line, if it is to be shown.
        column: where in the code the error is, from 0, if it is shown.
        instead: what to write, if that is known, in the line ``instead_line``.
        more: what else is shown, a line each: other lines of the same kind, or the calls that led there.
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


class Unreadable(Exception):
    """A file that cannot be graded: a sentence that ends with what to do.

    Attributes:
        short: the reason in a few words, for a list.
        location: the place in the file, if the reason is one line.
        refuted: the claim that does not hold, where the file was read: ``The file is Python.``
    """

    def __init__(
        self, sentence: str, short: str = "cannot be read", *, location: Location | None = None, refuted: str = ""
    ) -> None:
        super().__init__(sentence)
        self.short = short
        self.location = location
        self.refuted = refuted


@dataclass(frozen=True)
class Function:
    """A function of a file: its lines, counted from 1, from its first decorator on.

    Attributes:
        first: the line that it begins with.
        defined: the line of its ``def``.
        last: the line that it ends with.
        size: how much code it has; this only tells whether it is more than a skeleton has.
        stop: the line of the statement that marks a blank, if it can be reached.
        means: equal for two functions that differ in comments and layout alone.
    """

    first: int
    defined: int
    last: int
    size: int
    stop: int | None
    means: str
