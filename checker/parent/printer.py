"""The view of a check in a terminal."""

from __future__ import annotations

from typing import assert_never

from checker.compiling import Compiler
from checker.parent.effects import Explanation, Item, Row, Words, WordsKind
from checker.parent.view import View
from checker.terminal import Terminal


class Printer(View):
    """Writes the parts of a check to a terminal as they become known, and a moving line while MAX compiles."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self.terminal = terminal
        self.last: Item | None = None  # the last one that was shown

    def begin(self, file: str) -> None:
        """Print which file is checked."""
        self.terminal.line(f"{file}\n")

    def show(self, item: Item) -> None:
        """Print a part of a check, with an empty line before a part that is no row."""
        terminal = self.terminal
        match item:
            case Row():
                terminal.row(item.mark, item.about, item.sentence)
            case Explanation():
                terminal.line(f"\n{item.about}: {item.sentence}" if item.about else f"\n{item.sentence}")
                for line in item.location.as_lines() if item.location else []:
                    terminal.code(line)
            case Words(kind=WordsKind.PRINTED):
                terminal.styled((f"  | {item.text}", "dim"))
            case Words(kind=WordsKind.SHOWN):
                goes_on = isinstance(self.last, Words) and self.last.kind is WordsKind.SHOWN
                terminal.styled(item.text if goes_on else f"\n{item.text}")
            case Words():
                goes_on = item.aside or self.last is None
                terminal.line(item.text if goes_on else f"\n{item.text}")
            case _:
                assert_never(item)
        self.last = item

    def close(self) -> None:
        """End the moving line."""
        self.terminal.close()

    def show_compiling(self, name: str, seconds: float, compiler: Compiler) -> None:
        """Show a moving line."""
        self.terminal.show_compiling(name, seconds, compiler)

    def end_compiling(self, name: str, seconds: float) -> None:
        """Print how long a compilation took, in place of its moving line."""
        self.terminal.end_compiling(name, seconds)
