"""The views of a check, none and the terminal's, which prints for every command: plain lines that read well aloud."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from checker.check.effects import Explanation, Item, Row, Words
from checker.check.state import Offers
from checker.events import THE_KERNEL, Mark
from checker.machine import crowd

STYLES: dict[str, str] = {Mark.PASS: "green", Mark.FAIL: "bold red", Mark.TODO: "yellow", Mark.WAITS: "dim"}
WIDTH = 110  # of a terminal, at most
NARROWEST = 24  # columns for a sentence; with fewer, it stands below what it is about
BELOW = 4  # columns in front of it there
UNBROKEN = 10_000  # columns of a log or a pipe, where no line is wrapped


class View:
    """Shows nothing of a check.

    Attributes:
        offers: what a learner can do next, in words.
        folds: the marks of rows of which, where many are alike, it shows the first ones and a count.
    """

    offers = Offers()
    folds: Collection[Mark] = (Mark.PASS, Mark.FAIL)

    def begin(self, file: str) -> None:
        """Show which file is checked."""

    def show(self, item: Item) -> None:
        """Show something that has become known."""

    def close(self) -> None:
        """Leave nothing behind that waits for a verdict."""

    def show_compiling(self, what: str, since: float) -> None:
        """Show what is being compiled since that time of ``time.monotonic``; called several times per second."""

    def end_compiling(self, what: str, seconds: float) -> None:
        """Show that it is compiled, if it was shown before."""


class Printer(View):
    """Writes lines, such as the parts of a check as they become known, and a progress line while MAX compiles."""

    def __init__(self, labels: Iterable[str] = (), *, stderr: bool = False, quiet: bool = False) -> None:
        self.console = Console(highlight=False, markup=False, emoji=False, stderr=stderr, quiet=quiet)
        self.console.width = min(self.console.width, WIDTH) if self.console.is_terminal else UNBROKEN
        self.label_width = max(map(len, labels), default=12)
        self.moving_line: Any = None  # rich's, which few checks need
        self.moving_what = ""  # what it tells of
        self.told_why = False
        self.last: Item | None = None

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
        """The columns of what is drawn, not written."""
        return self.console.width if self.console.is_terminal else WIDTH

    def draw(self, drawing: RenderableType) -> None:
        """Print a table or Markdown; where it is read as text, no line ends with padding."""
        with self.console.capture() as drawn:
            self.console.print(drawing, width=self.drawing_width)
        for line in drawn.get().splitlines():
            self.console.out(line.rstrip(), highlight=False)

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
        first, *others = textwrap.wrap(sentence, self.console.width - column) or [""]
        self.console.print(Text.assemble((head, STYLES.get(mark, "")), rest, first))
        for line in others:
            self.console.print(Text(" " * column + line))

    def below(self, text: str, indent: int, style: str = "") -> None:
        """Print text that belongs to the line above: wrapped, and indented by so many columns if there is room."""
        indent = min(indent, self.console.width // 8)
        for line in textwrap.wrap(text, max(self.console.width - indent, 1)):
            self.console.print(Text(" " * indent + line, style))

    def show_compiling(self, what: str, since: float) -> None:
        """Show a moving line."""
        if self.moving_line:
            return
        if not self.told_why and what != THE_KERNEL:
            self.told_why = True
            self.line("  MAX compiles what it has not run on this machine before, once, and keeps the result.")
        if not self.console.is_terminal:  # where no line moves
            self.line(f"  compiling {what}")
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        busy = f" ({others})" if (others := crowd()) else ""
        columns = SpinnerColumn("line"), TextColumn(f"compiling {what}{busy},"), TimeElapsedColumn()
        progress = Progress(*columns, console=self.console, transient=True)
        progress.add_task("", total=None)
        progress.tasks[0].start_time = since
        self.moving_line, self.moving_what = progress.live, what
        self.moving_line.start()

    def end_compiling(self, what: str, seconds: float) -> None:
        """Print how long it took, in place of the moving line that tells of it; of something inside it, nothing."""
        if self.moving_line and what == self.moving_what:
            self.close()
            self.line(f"  compiling {what} took {seconds:.0f} s")  # whatever came of it

    def close(self) -> None:
        """Leave the terminal as it was, also where Ctrl-C finds the moving line half begun."""
        if self.moving_line:
            with suppress(IndexError):  # of what it has not put on rich's stacks
                self.moving_line.stop()
            self.console.show_cursor()
            self.moving_line = None
