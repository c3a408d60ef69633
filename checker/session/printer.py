"""The look of a verdict: plain lines that read well without color, in a log, and aloud."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Iterable

from rich.console import Console
from rich.status import Status
from rich.text import Text

from checker import interrupts
from checker.events import THE_KERNEL, Compiling, Tick

STYLES = {"yes": "green", "no": "bold red", "to write": "yellow", "waits": "dim"}
SHOW_COMPILING_AFTER = 1.9  # seconds; what comes from the cache takes less
WIDTH = 110


def asked(question: str) -> bool | None:
    """Return whether a person answers yes; None if there is no terminal to ask at."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False


class Printer:
    """Writes the lines of a verdict as they become known, and a progress line while MAX compiles."""

    def __init__(
        self, labels: Iterable[str] = (), widest: int = WIDTH, *, stderr: bool = False, quiet: bool = False
    ) -> None:
        self.console = Console(highlight=False, markup=False, emoji=False, stderr=stderr, quiet=quiet)
        self.console.width = min(self.console.width, widest) if self.console.is_terminal else WIDTH
        self.label_width = max(map(len, labels), default=12)
        self.compiling: tuple[str, float] | None = None
        self.status: Status | None = None
        self.told_why = False
        self.again = "run this again"  # what a learner does to get another verdict
        self.stopping = "Ctrl-C"  # what ends a check that goes on

    def begin(self, seed: int, *, complete: bool) -> None:
        """Take note of a check that begins to run; a terminal shows its seed only if that matters.

        Args:
            seed: what its second configuration is drawn from.
            complete: whether no verdict is left out.
        """

    def line(self, text: str = "") -> None:
        """Print text, wrapped to the terminal."""
        self.console.print(text)

    def styled(self, *parts: str | Text | tuple[str, str]) -> None:
        """Print one line of parts, some in a style, unwrapped."""
        self.console.print(Text.assemble(*parts), soft_wrap=True)

    def code(self, text: str) -> None:
        """Print a line of code, as it is."""
        self.console.print(Text(f"    {text}"), no_wrap=True, overflow="ellipsis")

    def row(self, verdict: str, about: str, sentence: str, where: str = "") -> None:
        """Print ``yes  _attn  Given query, key and value it returns what Hugging Face returns.``

        ``where`` begins with the line that the row is about, ``line 57: …``; a terminal shows it with the explanation.
        """
        head = f"  {verdict:<8}  {about:<{self.label_width}}  "
        lines = textwrap.wrap(sentence, self.console.width - len(head)) or [""]
        self.console.print(Text.assemble((head[:10], STYLES.get(verdict, "")), head[10:], lines[0]))
        for line in lines[1:]:
            self.console.print(Text(" " * len(head) + line))

    def explained(self, about: str, sentence: str, where: str, *, numbers: bool = False) -> None:
        """Print why it is a no, and below it the lines of the file that it is about; ``numbers`` can be shown."""
        self.line(f"\n{about}: {sentence}" if about else f"\n{sentence}")
        for line in where.splitlines():
            self.code(line)

    def printed(self, text: str) -> None:
        """Print a line that the learner's own code printed."""
        self.console.print(Text(f"  | {text}", "dim"), soft_wrap=True)

    @interrupts.put_off()
    def progress(self, event: Compiling | Tick) -> None:
        """Follow what MAX compiles, and say so once it takes a while."""
        if isinstance(event, Compiling) and event.seconds is None:
            self.compiling = (event.what, time.monotonic())
        elif isinstance(event, Compiling):
            if self.status:
                self.close()
                self.line(f"  compiled {event.what} in {event.seconds:.0f} s")
            self.compiling = None
        elif self.compiling and self.is_long():
            what, since = self.compiling
            self._show_compiling(f"compiling {what}, {time.monotonic() - since:.0f} s")

    def is_long(self) -> bool:
        """Return whether MAX has been compiling something for a while."""
        return self.compiling is not None and time.monotonic() - self.compiling[1] > SHOW_COMPILING_AFTER

    def _show_compiling(self, text: str) -> None:
        if not self.told_why and self.compiling and self.compiling[0] != THE_KERNEL:
            self.told_why = True
            self.line("  MAX compiles what it has not run on this machine before, once, and keeps the result.")
        if self.status is None:
            self.status = Status(Text(text), console=self.console, spinner="line")
            self.status.start()
        self.status.update(Text(text))

    @interrupts.put_off()
    def close(self) -> None:
        """Leave the terminal as it was."""
        if self.status:
            self.status.stop()
            self.status = None
