"""Fold rows that are alike: of many, the first ones are shown, and one that counts the rest."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from checker.parent.effects import Item, Row
from checker.stages import Mark

MOST_PASSES, MOST_FAILURES = 5, 2  # how many rows that are alike are shown; of more, one counts the rest


class Folding:
    """Takes items, and returns those to show now; rows that are alike wait until another item comes.

    Args:
        marks: the marks of rows that are folded.
    """

    def __init__(self, marks: Collection[Mark]) -> None:
        self.marks = marks
        self.alike: list[Row] = []  # the last rows that are alike

    def add(self, item: Item) -> list[Item]:
        """Return the items to show now that there is another one."""
        if not isinstance(item, Row) or item.mark not in self.marks:
            return [*self.rest(), item]
        to_show = list[Item]()
        if self.alike and not are_alike(self.alike[0], item):
            to_show += self.rest()
        self.alike.append(item)
        if item.mark is Mark.PASS and len(self.alike) < MOST_PASSES:
            to_show.append(item)  # the further ones wait
        return to_show

    def rest(self) -> Sequence[Item]:
        """Return the rows to show of those that wait, which are alike: themselves, or one that counts them."""
        alike = self.alike
        self.alike = []
        if not alike:
            return []
        first = alike[0]
        if first.mark is Mark.PASS:
            waiting = alike[MOST_PASSES - 1 :]  # the rows before were shown
            if len(waiting) < 2:
                return waiting
            return [replace(waiting[0], sentence=f"{len(waiting)} more claims about it hold.")]
        if len(alike) <= MOST_FAILURES:
            return alike
        more = f"({len(alike) - 1} more claims fail for the same reason.)"
        return [replace(first, sentence=f"{first.sentence} {more}")]


def are_alike(row: Row, other: Row) -> bool:
    """Return whether two rows say the same of the same function, by different claims."""
    return (row.mark, row.about, row.group) == (other.mark, other.about, other.group)
