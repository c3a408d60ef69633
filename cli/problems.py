"""What is wrong with a file, one line for each problem: for the list of an editor, and for GitHub's workflows."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checker.session.views import Record


@dataclass(frozen=True)
class Problem:
    """One reason for a no: the file, the line that it is about, the function (or nothing), and the sentence."""

    file: str
    line: int
    about: str
    sentence: str

    @property
    def words(self) -> str:
        """The function and the sentence."""
        return f"{self.about}: {self.sentence}" if self.about else self.sentence


def problems_of(verdict: Record) -> list[Problem]:
    """Return the problems of a verdict, as ``verdict.schema.json`` describes it; a blank to write is none."""
    if verdict["verdict"] != "no":
        return []
    explained = [
        Problem(verdict["file"], one["line"] or 1, one["about"], one["sentence"]) for one in verdict["explanations"]
    ]
    if explained or any(row["verdict"] in ("to write", "waits") for row in verdict["rows"]):
        return explained
    return [Problem(verdict["file"], 1, "", said) for said in verdict["said"][:1]]  # the file cannot be read


def for_editors(problems: Iterable[Problem]) -> list[str]:
    """Return a line for each problem in the form that GNU's tools have, which editors know."""
    return [f"{one.file}:{one.line}: error: {_on_one_line(one.words)}" for one in problems]


def for_github(problems: Iterable[Problem]) -> list[str]:
    """Return a workflow command for each problem, which shows it at its line."""
    return [
        f"::error file={_property(one.file)},line={one.line},title={_property(one.about or one.file)}::"
        f"{_data(one.sentence)}"
        for one in problems
    ]


def as_lines(problems: Iterable[Problem], *, editor: bool, github: bool) -> list[str]:
    """Return the lines that were asked for."""
    return for_editors(problems) if editor else for_github(problems) if github else []


@contextlib.contextmanager
def not_obeyed(github: bool = True) -> Iterator[None]:
    """While this is open, have GitHub obey nothing that is printed: a learner's code may print commands."""
    token = secrets.token_hex(16)
    if github:
        print(f"::stop-commands::{token}", flush=True)
    try:
        yield
    finally:
        if github:
            print(f"::{token}::", flush=True)


def _on_one_line(text: str) -> str:
    """Return a text without line ends and what a terminal would obey."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())


def _data(text: str) -> str:
    """Return a text as the message of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Return a text as a property of a workflow command."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
