"""The words of a verdict: plain lines that read well without colour, in a log, and aloud."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from typing import Any, TextIO

COLOURS = {"yes": "32", "no": "31", "to write": "33", "waits": "2", "dim": "2"}
SHOW_COMPILING_AFTER = 1.0  # seconds


class Printer:
    """Writes the lines of a verdict as they become known, and a progress line while MAX compiles."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = out or sys.stdout
        self.terminal = self.out.isatty()
        self.colour = self.terminal and not os.environ.get("NO_COLOR")
        self.width = min(shutil.get_terminal_size((100, 24)).columns, 110)
        self.compiling: tuple[str, float] | None = None
        self.progress_shown = False
        self.compiled_before = False
        self.label = 12

    def paint(self, text: str, kind: str) -> str:
        """``text`` in the colour of ``kind``, where the terminal has colours."""
        return f"\033[{COLOURS[kind]}m{text}\033[0m" if self.colour and kind in COLOURS else text

    def line(self, text: str = "") -> None:
        """One line, over whatever progress stood there."""
        self._clear()
        print(text, file=self.out, flush=True)

    def paragraph(self, text: str, indent: str = "") -> None:
        """Text wrapped to the terminal."""
        self.line(textwrap.fill(text, self.width, initial_indent=indent, subsequent_indent=indent))

    def row(self, verdict: str, about: str, sentence: str) -> None:
        """``yes  _attn  Given query, key and value it returns what Hugging Face returns.``"""
        head = f"  {verdict:<9} {about:<{self.label}}  "
        body = textwrap.wrap(sentence, max(30, self.width - len(head))) or [""]
        self.line(self.paint(head[:11], verdict) + head[11:] + body[0])
        for more in body[1:]:
            self.line(" " * len(head) + more)

    def printed(self, text: str) -> None:
        """A line that the learner's own code printed."""
        self.line(self.paint(f"  | {text}", "dim"))

    def progress(self, event: dict[str, Any]) -> None:
        """Follow ``compiling`` and ``tick`` events: say what MAX compiles once it takes a while."""
        if event["event"] == "compiling":
            if event["seconds"] is None:
                self.compiling = (event["what"], time.monotonic())
            else:
                if self.progress_shown and not self.terminal:
                    self.line(f"  compiled {event['what']} in {event['seconds']:.0f} s")
                self.compiling, self.progress_shown = None, False
                self._clear()
            return
        if self.compiling is None:
            return
        what, since = self.compiling
        seconds = time.monotonic() - since
        if seconds < SHOW_COMPILING_AFTER:
            return
        if not self.compiled_before:
            self.compiled_before = True
            self.line("  MAX compiles what it has not run on this machine before. It does so once, and keeps the result.")
        if self.terminal:
            print(f"\r\033[2K  compiling {what} … {seconds:.0f} s"[: self.width + 6], end="", file=self.out, flush=True)
        self.progress_shown = True

    def _clear(self) -> None:
        if self.terminal and self.progress_shown:
            print("\r\033[2K", end="", file=self.out)
