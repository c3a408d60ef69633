"""Make records of a check for other programs.

``./run s07 --json`` prints one object, which ``verdict.schema.json`` beside this file describes; the book's page gets
the same parts one by one as they come.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from checker.compiling import Compiler
from checker.parent.effects import Explanation, Item, Row, Words, WordsKind
from checker.parent.state import Tried, VerdictKind
from checker.parent.view import View
from checker.stages import Mark

if TYPE_CHECKING:
    from checker.parent.check import Check

VERSION = 3  # of the object; raised when a program that reads it would have to be changed
SECOND = 1.0  # between two records of a compilation

Record = dict[str, Any]


class RecordView(View):
    """A view that hands each part of a check on as a record; ``send`` gets them as they come."""

    folds: Collection[Mark] = (Mark.FAIL,)  # the page folds claims that pass itself

    def __init__(self, send: Callable[[Record], None]) -> None:
        super().__init__()
        self.send = send
        self.shown_name = ""  # of the compilation that a record has shown
        self.sent_at = 0.0  # when its last record was sent, by time.monotonic

    def show(self, item: Item) -> None:
        """Send a part."""
        self.send({"event": event_of(item), **as_record(item)})

    def show_compiling(self, name: str, seconds: float, compiler: Compiler) -> None:
        """Send a record of the compilation, once a second."""
        now = time.monotonic()
        if now - self.sent_at > SECOND:
            self.shown_name = name
            self.sent_at = now
            self.send({"event": "compiling", "text": f"compiling {name}, {seconds:.0f} s"})

    def end_compiling(self, name: str, seconds: float) -> None:
        """Send that the compilation has ended, if a record has shown it; one around it is sent at once."""
        if name == self.shown_name:
            self.shown_name = ""
            self.sent_at = 0.0
            self.send({"event": "compiling", "text": ""})


def event_of(item: Item) -> str:
    """Return the name under which the page gets a part of a check."""
    match item:
        case Row():
            return "row"
        case Explanation():
            return "explanation"
        case Words():
            return item.kind


def as_record(item: Item) -> Record:
    """Return a part of a check as a record."""
    match item:
        case Row():
            return {
                "mark": item.mark,
                "about": item.about,
                "sentence": item.sentence,
                "line": item.line,
                "tells_line": item.tells_line,
            }
        case Explanation():
            return {
                "about": item.about,
                "sentence": item.sentence,
                "where": item.location.as_lines() if item.location else [],
                "line": item.line,
                "numbers": item.has_numbers,
            }
        case Words():
            return {"text": item.text}


def kind_of_verdict(record: Record) -> VerdictKind:
    """Return the kind of the verdict in the record of a whole check, which may have been read from JSON."""
    return VerdictKind(record["verdict"])


def verdict_record(check: Check) -> Record:
    """Return the record of a whole check that has a verdict."""
    state, context, verdict = check.state, check.state.context, check.state.verdict
    assert verdict
    rows = [item for item in check.items if isinstance(item, Row)]
    words = [item for item in check.items if isinstance(item, Words)]
    return {
        "version": VERSION,
        "step": check.step.name,
        "task": check.step.task,
        "file": context.file,
        "verdict": verdict.kind,
        "complete": verdict.tried is Tried.ALL,
        "seconds": round(check.seconds(), 3),
        "seed": context.seed if state.has_drawn_numbers else None,
        "rows": [as_record(row) for row in rows],
        "explanations": [as_record(explanation) for explanation in verdict.explanations],
        "shown": [item.text for item in words if item.kind is WordsKind.SHOWN],
        "printed": [item.text for item in words if item.kind is WordsKind.PRINTED],
        "said": [item.text for item in words if item.kind in (WordsKind.SAID, WordsKind.LEAD)],
    }
