"""The interface of a language of steps."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

from checker.course.source import Source

#: A string literal or a comment, as both languages have them.
TEXT = re.compile(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*')


@dataclass(frozen=True)
class Function:
    """A function of a file: its lines, counted from 1, from its first decorator on.

    Attributes:
        first: the line that it begins with.
        def_line: the line of its ``def``.
        last: the line that it ends with.
        size: how much code it has that may be part of an answer, as print is not; larger than in the skeleton if
            somebody has begun to write.
        stop_line: the line of the stop statement, if the function has one that can be reached.
        meaning: a text that is equal for two functions that differ in comments and layout alone.
    """

    first: int
    def_line: int
    last: int
    size: int
    stop_line: int | None
    meaning: str


class Language(ABC):
    """Reads the text of a file, without running it.

    Attributes:
        name: the language, as it is written.
        is_run: whether a file has to run to say which names it has.
        suffix: the ending of its files' names.
        stop_statement: the statement that marks a blank in a skeleton.
        claim_that_it_loads: the claim that fails if the file cannot be loaded.
        look_for_loop, look_for_wait: advice on a file that never ends, and computes or only waits.
        look_for_exit, look_for_abort, look_for_crash: advice on a file whose process has exited, or was ended by
            SIGABRT or by another signal.
    """

    name: str
    is_run: bool
    suffix: str
    stop_statement: str
    claim_that_it_loads: str
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
        """Return the docstring of the file, or nothing."""

    @abstractmethod
    def read_crash(self, line: str) -> tuple[int, str] | None:
        """Return the line and the reason of a crash, if a printed line tells of one."""

    @abstractmethod
    def meaning(self, source: Source) -> str:
        """Return a text that is equal for two files that differ in comments and layout alone."""
