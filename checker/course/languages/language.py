"""What every language of a step can say of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Unreadable(Exception):
    """A file that cannot be graded: a sentence that ends with what to do.

    Attributes:
        short: the reason in a few words, for a list.
        code: the lines to show, the second of which points into the first.
        refuted: the claim that does not hold, where the file was read: ``The file is Python.``
    """

    def __init__(
        self, sentence: str, short: str = "cannot be read", *, code: tuple[str, ...] = (), refuted: str = ""
    ) -> None:
        super().__init__(sentence)
        self.short = short
        self.code = code
        self.refuted = refuted


@dataclass(frozen=True)
class Function:
    """A function of a file: its lines, counted from 1, from its first decorator on.

    ``means`` is equal for two that differ in comments and layout alone.
    """

    first: int
    defined: int  # the line of its ``def``
    last: int
    means: str


class Language(Protocol):
    """Reads the text of a file.

    Attributes:
        name: as it is written.
        suffix: of its files.
        stop: the statement that stands in a skeleton where something is still to write.
        loads: the claim that the file can be loaded, which a verdict refutes where it cannot.
        look_for: what to look for in a file that hangs, and in one that ends its process.
    """

    name: str
    suffix: str
    stop: str
    loads: str
    look_for: tuple[str, str]

    def __hash__(self) -> int: ...

    def refuse(self, source: str, path: str) -> None:
        """Raise Unreadable if the text is none of this language, as far as that can be seen at once."""

    def functions(self, source: str) -> dict[str, Function]:
        """Return every function by qualified name, outermost first."""

    def stops(self, source: str, name: str) -> tuple[int, int] | None:
        """Return the line of the statement at which a function stops, and how much code the function has.

        None if there is no such statement that can be reached. How much it is only tells whether it is more than a
        skeleton has.
        """

    def docstring(self, source: str) -> str:
        """Return what the file says of itself."""

    def crash(self, printed: str) -> tuple[int, str] | None:
        """Return the line of the file and the reason, if a printed line tells why the process is about to end."""

    def meaning(self, source: str) -> str:
        """Return a text that is equal for two files that differ in comments and layout alone."""
