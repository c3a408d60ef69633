"""The problems of a file, one line for each: for the list of an editor, and for GitHub's workflows."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checker.parent.records import Record, kind_of_verdict
from checker.parent.state import VerdictKind
from checker.stages import Mark


@dataclass(frozen=True)
class Problem:
    """One reason for a failure: the file, the line, the function that it is about (or nothing), and the sentence."""

    file: str
    line: int
    about: str
    sentence: str

    @property
    def words(self) -> str:
        """The function and the sentence."""
        return f"{self.about}: {self.sentence}" if self.about else self.sentence

    def for_editors(self) -> str:
        """Return the problem on one line, in the form of GNU's tools, without characters that a terminal would obey."""
        words = "".join(letter for letter in " ".join(self.words.split()) if letter.isprintable())
        return f"{self.file}:{self.line}: error: {words}"

    def for_github(self) -> str:
        """Return the problem as a command of a GitHub workflow, which shows it at its line."""
        file, title = (
            _escaped(text).replace(":", "%3A").replace(",", "%2C") for text in (self.file, self.about or self.file)
        )
        return f"::error file={file},line={self.line},title={title}::{_escaped(self.sentence)}"


def problems_of(record: Record) -> list[Problem]:
    """Return the problems in the record of a check (``verdict.schema.json``); a blank to write is no problem."""
    if kind_of_verdict(record) is not VerdictKind.FAIL:
        return []
    problems = [
        Problem(record["file"], explanation["line"] or 1, explanation["about"], explanation["sentence"])
        for explanation in record["explanations"]
    ]
    if problems or any(Mark(row["mark"]) in (Mark.TODO, Mark.WAITS) for row in record["rows"]):
        return problems
    return [Problem(record["file"], 1, "", reason) for reason in record["said"][:1]]  # the file cannot be read


def as_lines(problems: Iterable[Problem], form: str | None) -> list[str]:
    """Return the lines for an editor (``problems``) or for GitHub (``github``); none for another form."""
    ways = {"problems": Problem.for_editors, "github": Problem.for_github}
    return [ways[form](problem) for problem in problems] if form in ways else []


@contextlib.contextmanager
def without_workflow_commands() -> Iterator[None]:
    """While this is open, GitHub obeys no workflow command: a learner's code may print some."""
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    try:
        yield
    finally:
        print(f"::{token}::", flush=True)


def _escaped(text: str) -> str:
    """Return a text as a workflow command has it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
