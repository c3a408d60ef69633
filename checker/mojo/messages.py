"""What Mojo's compiler says, cut to the learner's line, with the line to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LINE = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+): (?P<kind>error|note): (?P<said>.*)$")
LONGEST = 300  # characters of a message


class KernelRefused(Exception):
    """A learner's kernel does not compile: a sentence, and below it the line and what to write there."""

    def __init__(self, sentence: str, where: str) -> None:
        super().__init__(sentence)
        self.sentence, self.where = sentence, where


@dataclass(frozen=True)
class Said:
    """One error of the compiler: in which file, on which line and column, from 1."""

    file: str
    line: int
    column: int
    said: str


#: Habits from Python and from CUDA: what the line looks like, what to write instead, and why.
HABITS: tuple[tuple[str, str, str], ...] = ()


def in_words(said: str, source: str, file: str) -> tuple[str, str]:
    """Return a sentence about the first error in a file, and the line, with what to write there if that is known.

    Args:
        said: all that the compiler said.
        source: the text of the learner's file.
        file: its name, as the compiler has it.
    """
    errors = [*errors_in(said)]
    own = next((one for one in errors if one.file.rpartition("/")[2] == file), None)
    if own is None:
        first = errors[0].said if errors else " ".join(said.split()) or "it said nothing"
        return f"Mojo: {_shortened(first)}. Do the functions still take what they took?", ""
    line = source.splitlines()[own.line - 1] if own.line <= len(source.splitlines()) else ""
    where = f"line {own.line}: {line.strip()}"
    for pattern, instead, why in HABITS:
        written = re.sub(pattern, instead, line)
        if written != line:
            sentence = f"Mojo: {_shortened(own.said)}. {why}"
            return sentence, f"{where}\n{'write':>{where.index(':')}}: {written.strip()}"
    return f"Mojo: {_shortened(own.said)}.", where


def errors_in(said: str) -> Iterator[Said]:
    """Yield the errors among what the compiler said, in its order."""
    for line in said.splitlines():
        match = LINE.match(line)
        if match and match["kind"] == "error":
            yield Said(match["file"], int(match["line"]), int(match["column"]), match["said"])


def _shortened(message: str) -> str:
    message = message.rstrip(".")
    return message if len(message) <= LONGEST else f"{message[:LONGEST]} …"
