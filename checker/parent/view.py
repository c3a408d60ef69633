"""What shows a check: nothing, unless a subclass does: to a terminal (``printer``) or a program (``records``)."""

from __future__ import annotations

from collections.abc import Collection

from checker.compiling import Compiler
from checker.events import Mark
from checker.parent.effects import Item
from checker.parent.folding import Folding
from checker.parent.offers import IN_TERMINAL


class View:
    """Shows nothing of a check: a subclass does, by ``show``, once rows that are alike are folded.

    Attributes:
        offers: what a learner can do next, in words.
        folds: the marks of rows of which, where many are alike, it shows the first ones and a count.
    """

    offers = IN_TERMINAL
    folds: Collection[Mark] = (Mark.PASS, Mark.FAIL)

    def __init__(self) -> None:
        self.folding = Folding(self.folds)

    def add(self, item: Item) -> None:
        """Take in something that has become known, and show it, unless it waits for rows that are alike."""
        for shown in self.folding.add(item):
            self.show(shown)

    def show_rest(self) -> None:
        """Show what has waited for rows that are alike."""
        for shown in self.folding.rest():
            self.show(shown)

    def begin(self, file: str) -> None:
        """Show which file is checked."""

    def show(self, item: Item) -> None:
        """Show a part of a check."""

    def close(self) -> None:
        """Leave nothing behind that waits for a verdict."""

    def show_compiling(self, name: str, since: float, compiler: Compiler) -> None:
        """Show what is being compiled since that time of ``time.monotonic``; called several times per second."""

    def end_compiling(self, name: str, seconds: float) -> None:
        """Show that it is compiled, if it was shown before."""
