"""What follows from an event: what the edge of a check is to show, to save, or to find out."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from checker.course.languages import Location
from checker.events import Mark

MOST_PASSES, MOST_FAILURES = 5, 2  # rows that are alike; of more, one counts the rest


@dataclass(frozen=True)
class Row:
    """What is known of one claim, or of a blank that is still to write.

    ``line`` is where to look; claims that fail for one reason are a ``group``.
    """

    kind: ClassVar = "row"
    mark: Mark
    about: str
    sentence: str
    line: int | None = None
    group: str = ""

    def is_like(self, other: Row) -> bool:
        """Return whether another row says the same of the same function, by another claim."""
        return (self.mark, self.about, self.group) == (other.mark, other.about, other.group)


@dataclass(frozen=True)
class Words:
    """Something else to show: what the check has ``said``, numbers ``shown``, or what the file has ``printed``.

    An aside belongs to what stands before it.
    """

    kind: str
    text: str
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

    what: str
    seconds: float


@dataclass(frozen=True)
class EndCompiling:
    """Something is compiled, whether that was shown or not; it took so many ``seconds``."""

    what: str
    seconds: float


@dataclass(frozen=True)
class AskInstalled:
    """It is to be found out which MAX is installed; ``Installed`` is the answer."""


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
Effect = Item | SaveProgress | ShowCompiling | EndCompiling | AskInstalled | CloseView


def remark(text: str, *, aside: bool = False) -> Words:
    """Return a sentence of the check."""
    return Words("said", text, aside)


# ---------------------------------------------------------------- rows that are alike


def fold(
    alike: tuple[Row, ...], effects: Iterable[Effect], marks: Collection[str]
) -> tuple[tuple[Row, ...], list[Effect]]:
    """Leave rows out that are like others before them; once something else is shown, ``last_of`` them comes first.

    Args:
        alike: the last rows so far, which are alike.
        effects: what is to follow, with every row.
        marks: the marks of rows that are folded.

    Returns:
        The last rows that are alike now, and what is to follow.
    """
    shown = list[Effect]()
    for effect in effects:
        row = effect if isinstance(effect, Row) and effect.mark in marks else None
        if _adds_lines(effect) and not (row and alike and row.is_like(alike[-1])):
            shown += last_of(alike)
            alike = ()
        if row:
            alike = (*alike, row)
        if not row or (row.mark == Mark.PASS and len(alike) < MOST_PASSES):
            shown.append(effect)
    return alike, shown


def _adds_lines(effect: Effect) -> bool:
    """Return whether something is shown below what was shown before."""
    return isinstance(effect, Row | Words | Explanation | ShowCompiling)


def last_of(alike: tuple[Row, ...]) -> list[Effect]:
    """Return what is shown last of rows that are alike: those that were left out, or one that counts them."""
    if alike and alike[0].mark == Mark.PASS:
        left = alike[MOST_PASSES - 1 :]
        return [replace(left[0], sentence=f"{len(left)} more claims about it hold.")] if len(left) > 1 else [*left]
    if len(alike) > MOST_FAILURES:
        more = f"({len(alike) - 1} more claims fail for the same reason.)"
        return [replace(alike[0], sentence=f"{alike[0].sentence} {more}")]
    return [*alike]
