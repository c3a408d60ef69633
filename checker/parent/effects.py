"""The effects of an event: things for the edge of a check to show or to save."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from checker.compiling import Compiler
from checker.course.reading import Location
from checker.stages import Mark


@dataclass(frozen=True)
class Row:
    """The row of one claim, or of a blank that is still to write.

    ``line`` is the line to look at; claims that fail for one reason are a ``group``.
    """

    mark: Mark
    about: str
    sentence: str
    line: int | None = None
    group: str = ""

    @property
    def tells_line(self) -> bool:
        """Whether the sentence begins with the line: it does for a blank, unless its function is missing."""
        return self.mark is Mark.TODO and self.line is not None


class WordsKind(StrEnum):
    """The kind of words."""

    SAID = "said"  # by the check
    LEAD = "lead"  # by the check, before the explanation that comes next
    SHOWN = "shown"  # numbers, with --show
    PRINTED = "printed"  # by the file


@dataclass(frozen=True)
class Words:
    """Further words to show. An aside belongs to the words or rows before it."""

    text: str
    kind: WordsKind = WordsKind.SAID
    aside: bool = False


@dataclass(frozen=True)
class SavePass:
    """Save for ``status`` that a learner's file has passed, and whether it was ``compiled``."""

    compiled: bool


@dataclass(frozen=True)
class SaveFailure:
    """Save for ``status`` that a learner's file has failed: an earlier pass of the same code is taken back."""


@dataclass(frozen=True)
class SaveCutShort:
    """Save for ``status`` that the process of a learner's file only ended, or was late: an earlier pass stays."""


@dataclass(frozen=True)
class ShowCompiling:
    """Show that a compilation has been going on for so many ``seconds``, more than a moment."""

    name: str
    seconds: float
    compiler: Compiler


@dataclass(frozen=True)
class EndCompiling:
    """Show that a compilation, if it was shown, has ended after so many ``seconds``."""

    name: str
    seconds: float


@dataclass(frozen=True)
class CloseView:
    """Leave nothing that moves in the view: the compilation that it shows has been cut short."""


@dataclass(frozen=True)
class Explanation:
    """Why a file fails, or has no verdict, in a few sentences: the function to blame, and the place to show.

    The function is defined at ``def_line``. If the explanation ``has_numbers``, some of that function's are wrong, and
    ``--show`` shows them.
    """

    sentence: str
    about: str = ""
    location: Location | None = None
    has_numbers: bool = False
    def_line: int | None = None

    @property
    def line(self) -> int | None:
        """The line to look at."""
        return self.location.line if self.location else self.def_line


Item = Row | Explanation | Words  # what is shown
ForView = Item | ShowCompiling | EndCompiling | CloseView
ToSave = SavePass | SaveFailure | SaveCutShort
Effect = ForView | ToSave
