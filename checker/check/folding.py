"""Which of many rows that are alike are shown: the first ones, and one that counts the rest."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from checker.check.effects import Item, Row
from checker.events import Mark

MOST_PASSES, MOST_FAILURES = 5, 2  # rows that are alike; of more, one counts the rest


class Folding:
    """Takes what is to be shown, and returns what to show now; rows that are alike wait until something else comes.

    Args:
        marks: the marks of rows that are folded.
    """

    def __init__(self, marks: Collection[Mark]) -> None:
        self.marks = marks
        self.alike: list[Row] = []  # the last rows, as far as they are alike

    def add(self, item: Item) -> list[Item]:
        """Return what to show now that there is another item."""
        if not isinstance(item, Row) or item.mark not in self.marks:
            return [*self.rest(), item]
        before = [] if self.alike and _said_of(item) == _said_of(self.alike[-1]) else self.rest()
        self.alike.append(item)
        is_one_of_the_first = item.mark == Mark.PASS and len(self.alike) < MOST_PASSES
        return [*before, item] if is_one_of_the_first else before

    def rest(self) -> list[Item]:
        """Return what is still to show of the last rows that are alike: those that wait, or one that counts them."""
        alike, self.alike = self.alike, []
        if alike and alike[0].mark == Mark.PASS:
            left = alike[MOST_PASSES - 1 :]
            return [replace(left[0], sentence=f"{len(left)} more claims about it hold.")] if len(left) > 1 else [*left]
        if len(alike) > MOST_FAILURES:
            more = f"({len(alike) - 1} more claims fail for the same reason.)"
            return [replace(alike[0], sentence=f"{alike[0].sentence} {more}")]
        return [*alike]


def _said_of(row: Row) -> tuple[Mark, str, str]:
    """Return what a row says of which function; rows that are alike say the same, by other claims."""
    return row.mark, row.about, row.group
