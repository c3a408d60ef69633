"""The view of a check in a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from checker.check.effects import Explanation, Item, Row, Words
from checker.check.view import View
from checker.terminal import Terminal


class Printer(Terminal, View):
    """Writes the parts of a check as they become known, and a moving line while MAX compiles."""

    def __init__(self, labels: Iterable[str] = (), *, quiet: bool = False) -> None:
        super().__init__(labels, quiet=quiet)
        self.last: Item | None = None

    def begin(self, file: str) -> None:
        """Print which file is checked."""
        self.line(f"{file}\n")

    def show(self, item: Item) -> None:
        """Print a part of a check, with an empty line before what is not a row."""
        match item:
            case Row():
                self.row(item.mark, item.about, item.sentence)
            case Explanation():
                self.line(f"\n{item.about}: {item.sentence}" if item.about else f"\n{item.sentence}")
                for line in item.location.as_lines() if item.location else []:
                    self.code(line)
            case Words("printed"):
                self.console.print(Text(f"  | {item.text}", "dim"), soft_wrap=True)
            case Words("shown"):
                self.styled(item.text if self.last and self.last.kind == "shown" else f"\n{item.text}")
            case Words():
                self.line(item.text if item.aside or self.last is None else f"\n{item.text}")
        self.last = item
