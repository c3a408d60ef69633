"""The verdict for other programs: what a printer is told, as records, and at last as one object.

``./run s07 --json`` prints that object, which ``verdict.schema.json`` beside this file describes; the book's page gets
the records one by one as they come. The terminal's printer and this one are told the same by the same report.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from rich.text import Text

from checker.course.paths import relative_path
from checker.course.steps import Step
from checker.events import Compiling, Tick
from checker.session.printer import Printer
from checker.session.verdict import INTERRUPTED, YES

VERSION = 1  # of the object; another one where a program that reads it would have to be changed
LINE = re.compile(r"line (\d+)", re.IGNORECASE)
SECOND = 1.0  # between two records of what is being compiled

Record = dict[str, Any]
Tell = Callable[[Record], None]


class Recorder(Printer):
    """A printer that keeps what it is told, and tells it on.

    Args:
        step: the step that is checked.
        tell: is called with each record as it comes.
        solution: the solution is checked instead of the learner's file.
        beside: a printer that prints all of it too.
    """

    def __init__(
        self,
        step: Step,
        tell: Tell = lambda record: None,
        *,
        solution: bool = False,
        beside: Printer | None = None,
    ) -> None:
        super().__init__(quiet=True)
        self.beside = beside or Printer(quiet=True)
        self.step = step
        self.file = step.solution_file if solution else step.learner_file
        self.tell = tell
        self.records: list[Record] = []
        self.started = time.perf_counter()
        self.told_compiling = 0.0
        self.seed: int | None = None
        self.is_complete = False

    def begin(self, seed: int, *, complete: bool) -> None:
        """Take note of what the object says of the whole check."""
        self.seed, self.is_complete = seed, complete

    def keep(self, event: str, **fields: Any) -> None:
        """Keep one record, and tell it."""
        self.records.append(record := {"event": event, **fields})
        self.tell(record)

    def line(self, text: str = "") -> None:
        """Keep a sentence."""
        self.beside.line(text)
        if text.strip() and text.strip() != relative_path(self.file):
            self.keep("said", text=text.strip())

    def styled(self, *parts: str | Text | tuple[str, str]) -> None:
        """Keep a line of numbers that are shown."""
        self.beside.styled(*parts)
        self.keep("shown", text=Text.assemble(*parts).plain)

    def code(self, text: str) -> None:
        """Keep a line of code."""
        self.beside.code(text)
        self.keep("shown", text=text)

    def row(self, verdict: str, about: str, sentence: str, where: str = "") -> None:
        """Keep a row, with the line of the file that it is about."""
        self.beside.row(verdict, about, sentence, where)
        self.keep("row", verdict=verdict, about=about, sentence=sentence, line=self.line_of(about, where))

    def explained(self, about: str, sentence: str, where: str, *, numbers: bool = False) -> None:
        """Keep why it is a no."""
        self.beside.explained(about, sentence, where, numbers=numbers)
        line = self.line_of(about, where if LINE.match(where) else sentence)
        fields = {"about": about, "sentence": sentence, "where": where.splitlines(), "line": line}
        self.keep("explanation", **fields, numbers=numbers and bool(about))

    def printed(self, text: str) -> None:
        """Keep a line that the learner's own code printed."""
        self.beside.printed(text)
        self.keep("printed", text=text)

    def progress(self, event: Compiling | Tick) -> None:
        """Tell what MAX compiles; nothing of it is kept."""
        self.beside.progress(event)
        was_long = self.is_long()
        super().progress(event)
        if isinstance(event, Compiling) and event.seconds is not None and was_long:
            self.tell({"event": "compiling", "text": ""})

    def _show_compiling(self, text: str) -> None:
        if time.monotonic() - self.told_compiling > SECOND:
            self.told_compiling = time.monotonic()
            self.tell({"event": "compiling", "text": text})

    def close(self) -> None:
        """Leave the terminal as it was."""
        self.beside.close()

    def line_of(self, about: str, where: str) -> int | None:
        """Return the line that something is about: as ``where`` begins, else where the function stands."""
        if found := LINE.match(where):
            return int(found[1])
        try:
            theirs = self.step.language.functions(self.file.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError, SyntaxError):
            return None
        names = (name for name in theirs if about and name.rpartition(".")[2] == about)
        return next((theirs[name].defined for name in names), None)

    def verdict(self, status: int) -> Record:
        """Return the whole verdict, whose exit status it is, as one object."""
        of = {event: [without_event(one) for one in self.records if one["event"] == event] for event in EVENTS}
        return {
            "version": VERSION,
            "step": self.step.name,
            "task": self.step.task,
            "file": relative_path(self.file),
            "verdict": {YES: "yes", INTERRUPTED: "interrupted"}.get(status, "no"),
            "complete": status == YES and self.is_complete,
            "seconds": round(time.perf_counter() - self.started, 3),
            "seed": self.seed,
            "rows": of["row"],
            "explanations": of["explanation"],
            "shown": [one["text"] for one in of["shown"]],
            "printed": [one["text"] for one in of["printed"]],
            "said": [one["text"] for one in of["said"]],
        }


EVENTS = ("row", "explanation", "shown", "printed", "said")


def without_event(record: Record) -> Record:
    """Return a record without the name of its kind."""
    return {name: value for name, value in record.items() if name != "event"}
