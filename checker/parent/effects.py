"""What follows from an event: what the edge of a check is to show or to save."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from checker.compiling import Compiler
from checker.course.reading import Location
from checker.events import Mark


@dataclass(frozen=True)
class Row:
    """What is known of one claim, or of a blank that is still to write.

    ``line`` is where to look, and the sentence begins with it if it ``tells_line``; claims that fail for one reason are
    a ``group``.
    """

    kind: ClassVar = "row"
    mark: Mark
    about: str
    sentence: str
    line: int | None = None
    group: str = ""
    tells_line: bool = False


class WordsKind(StrEnum):
    """What words are."""

    SAID = "said"  # by the check
    LEAD = "lead"  # the same, before the explanation that comes next
    SHOWN = "shown"  # numbers, with --show
    PRINTED = "printed"  # by the file


@dataclass(frozen=True)
class Words:
    """Something else to show. An aside belongs to what stands before it."""

    text: str
    kind: WordsKind = WordsKind.SAID
    aside: bool = False


@dataclass(frozen=True)
class SaveProgress:
    """It is to be saved, for ``status``, that a learner's file has ``passed``, maybe ``compiled``, or has failed.

    A failure ``takes_back`` an earlier pass of the same code, unless the process only crashed or took too long.
    """

    passed: bool
    compiled: bool = False
    takes_back: bool = True


@dataclass(frozen=True)
class ShowCompiling:
    """Something has been compiling for more than a moment, namely for so many ``seconds``."""

    name: str
    seconds: float
    compiler: Compiler = Compiler.MAX


@dataclass(frozen=True)
class EndCompiling:
    """Something is compiled, whether that was shown or not; it took so many ``seconds``."""

    name: str
    seconds: float


@dataclass(frozen=True)
class CloseView:
    """Nothing may go on moving in the view: what was compiled is compiled no more, and nobody will say so."""


@dataclass(frozen=True)
class Explanation:
    """Why a file fails, or has no verdict, in a few sentences: the function to blame, and the place in it to show.

    ``line`` is where to look. If it ``has_numbers``, they are wrong, and ``--show`` shows them.
    """

    kind: ClassVar = "explanation"
    sentence: str
    about: str = ""
    location: Location | None = None
    has_numbers: bool = False
    line: int | None = None


Item = Row | Explanation | Words  # what is shown
ForView = Item | ShowCompiling | EndCompiling | CloseView
Effect = ForView | SaveProgress
