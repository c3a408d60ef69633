"""What a check asks of a language that the file of a step can be written in."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

from checker.course.source import Source

#: A text in quotes, or a comment, as both languages have them.
TEXT = re.compile(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*')

#: What a blank raises when it is called. A blank that raised nothing could not be told from a wrong answer.
NotWritten = NotImplementedError


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


class Language(ABC):
    """Reads the text of a file, without running it.

    Attributes:
        name: as it is written.
        is_run: whether its file has to run to say which names it has.
        suffix: of its files.
        stop: the statement that marks a blank.
        loads: the claim that the file can be loaded, which a verdict refutes where it cannot.
        look_for_loop, look_for_wait: what to look for in a file that never ends, and computes or only waits.
        look_for_exit, look_for_abort, look_for_crash: what to look for in a file whose process has exited, or was ended
            by SIGABRT or another signal.
    """

    name: str
    is_run: bool
    suffix: str
    stop: str
    loads: str
    look_for_loop: str
    look_for_wait: str
    look_for_exit: str
    look_for_abort: str
    look_for_crash: str

    @abstractmethod
    def refuse(self, source: Source, path: str) -> None:
        """Raise Unreadable if the text is not of this language."""

    @abstractmethod
    def functions(self, source: Source) -> dict[str, Function]:
        """Return every function by qualified name, outermost first."""

    @abstractmethod
    def docstring(self, source: Source) -> str:
        """Return what the file says of itself."""

    @abstractmethod
    def crash(self, line: str) -> tuple[int, str] | None:
        """Return the line and the reason, if a printed line tells why the process is about to end."""

    @abstractmethod
    def meaning(self, source: Source) -> str:
        """Return a text that is equal for two files that differ in comments and layout alone."""
