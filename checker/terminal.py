"""A terminal, for every command that prints: plain lines that read well aloud."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from checker.compiling import Compiler
from checker.machine import load_if_busy
from checker.stages import Mark

STYLES: dict[str, str] = {Mark.PASS: "green", Mark.FAIL: "bold red", Mark.TODO: "yellow", Mark.WAITS: "dim"}
WIDTH = 110  # of a terminal, at most
NARROWEST = 24  # columns for a sentence; with fewer, it stands below its row
BELOW = 4  # columns in front of such a sentence
UNBROKEN = 10_000  # columns of a log or a pipe, where no line is wrapped


def in_lines(text: str, width: int) -> list[str]:
    """Return a text in lines of some columns; no option of a command is cut at its hyphens."""
    return textwrap.wrap(text, width, break_on_hyphens=False)


class Terminal:
    """Writes lines, rows of labels and sentences, and a moving line while MAX compiles."""

    def __init__(self, labels: Iterable[str] = (), *, stderr: bool = False, quiet: bool = False) -> None:
        self.console = Console(highlight=False, markup=False, emoji=False, stderr=stderr, quiet=quiet)
        self.console.width = min(self.console.width, WIDTH) if self.console.is_terminal else UNBROKEN
        self.label_width = max(map(len, labels), default=12)
        self.moving_line: Any = None  # of rich's, which few checks need
        self.moving_name = ""  # the compilation that the moving line tells of
        self.told_why = False

    def line(self, text: str = "") -> None:
        """Print text, wrapped to the terminal."""
        self.console.print(text)

    def styled(self, *parts: str | Text | tuple[str, str]) -> None:
        """Print one line of parts, some in a style, unwrapped."""
        self.console.print(Text.assemble(*parts), soft_wrap=True)

    def code(self, text: str) -> None:
        """Print a line of code, as it is."""
        self.console.print(Text(f"    {text}"), soft_wrap=True)

    @property
    def drawing_width(self) -> int:
        """How many columns a table or Markdown has."""
        return self.console.width if self.console.is_terminal else WIDTH

    def draw(self, drawing: RenderableType) -> None:
        """Print a table or Markdown; no line ends with padding, which a log would keep."""
        with self.console.capture() as drawn:
            self.console.print(drawing, width=self.drawing_width)
        for line in drawn.get().splitlines():
            self.console.out(line.rstrip(), highlight=False)

    def row(self, mark: str, about: str, sentence: str) -> None:
        """Print ``pass  _attn  Given query, key and value, it returns Hugging Face's output.``

        In a narrow terminal, the sentence stands below.
        """
        head, rest = f"  {mark:<8}", f"  {about:<{self.label_width}}  "
        column = len(head + rest)
        if self.console.width - column < NARROWEST:
            self.styled((head, STYLES.get(mark, "")), rest.rstrip())
            self.below(sentence, BELOW)
            return
        first, *others = in_lines(sentence, self.console.width - column) or [""]
        self.console.print(Text.assemble((head, STYLES.get(mark, "")), rest, first))
        for line in others:
            self.console.print(Text(" " * column + line))

    def below(self, text: str, indent: int, style: str = "") -> None:
        """Print text that belongs to the line above: wrapped, and indented by ``indent`` columns if there is room."""
        indent = min(indent, self.console.width // 8)
        for line in in_lines(text, max(self.console.width - indent, 1)):
            self.console.print(Text(" " * indent + line, style))

    def show_compiling(self, name: str, seconds: float, compiler: Compiler = Compiler.MAX) -> None:
        """Show a moving line, which counts on from ``seconds``; before the first one for MAX, say why MAX compiles."""
        if self.moving_line:
            return
        began = time.monotonic() - seconds
        if not self.told_why and compiler is Compiler.MAX:
            self.told_why = True
            self.line("  MAX compiles what it has not run on this machine before, once, and keeps the result.")
        if not self.console.is_terminal:  # where no line moves
            self.line(f"  compiling {name}")
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        load = load_if_busy()
        busy = f" ({load})" if load else ""
        columns = SpinnerColumn("line"), TextColumn(f"compiling {name}{busy},"), TimeElapsedColumn()
        progress = Progress(*columns, console=self.console, transient=True)
        progress.add_task("", total=None)
        progress.tasks[0].start_time = began
        self.moving_line, self.moving_name = progress.live, name
        self.moving_line.start()

    def end_compiling(self, name: str, seconds: float) -> None:
        """Print how long a compilation took, in place of its moving line; nothing for one inside of another."""
        if self.moving_line and name == self.moving_name:
            self.close()
            self.line(f"  compiling {name} took {seconds:.0f} s")  # whatever came of it

    def close(self) -> None:
        """Leave the terminal as it was, also where Ctrl-C finds the moving line half begun."""
        if self.moving_line:
            with suppress(IndexError):  # of what it has not put on rich's stacks
                self.moving_line.stop()
            self.console.show_cursor()
            self.moving_line = None
