"""The view of a check, which shows nothing; subclasses show it in a terminal (``printer``) or as ``records``."""

from __future__ import annotations

from collections.abc import Collection

from checker.compiling import Compiler
from checker.parent.effects import Item
from checker.parent.folding import Folding
from checker.stages import Mark


class View:
    """Shows nothing of a check: a subclass does, by ``show``, once rows that are alike are folded.

    Attributes:
        folds: the marks of rows that are folded: if many are alike, only the first ones and a count are shown.
    """

    folds: Collection[Mark] = (Mark.PASS, Mark.FAIL)

    def __init__(self) -> None:
        self.folding = Folding(self.folds)

    def add(self, item: Item) -> None:
        """Take in a part of the check, and show it, unless it waits for further rows that are alike."""
        for shown in self.folding.add(item):
            self.show(shown)

    def show_rest(self) -> None:
        """Show the rows that have waited for further ones that are alike."""
        for shown in self.folding.rest():
            self.show(shown)

    def begin(self, file: str) -> None:
        """Show which file is checked."""

    def show(self, item: Item) -> None:
        """Show a part of a check."""

    def close(self) -> None:
        """Leave nothing that moves."""

    def show_compiling(self, name: str, seconds: float, compiler: Compiler) -> None:
        """Show a compilation that has been going on for so many ``seconds``; called several times per second."""

    def end_compiling(self, name: str, seconds: float) -> None:
        """Show that a compilation has ended, if it was shown before."""
