"""The texts that a model learns from, and the parts of them that are held out.

*Moby Dick* comes with the course; models/moby-dick/README.md says where it is from and how it was cleaned.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from checker.course.steps import SMALL_MODEL, relative_path
from checker.errors import UserError

MOBY_DICK = SMALL_MODEL / "moby_dick.txt"
CHAPTERS = 135
TEST = range(10, CHAPTERS + 1, 20)  # for the figures of the model card; no choice depends on them
DEV = range(20, CHAPTERS + 1, 40)  # for every choice: which weights to keep, the n-gram's weights
HELD_OUT = 0.1  # of any other text: its end


@dataclass(frozen=True)
class Corpus:
    """Texts to learn, to choose by, and to measure; no text is in two of them."""

    train: list[str]
    dev: list[str]
    test: list[str]
    also: list[str] = field(default_factory=list)  # to learn too, but not to be measured by


def moby_dick() -> dict[int, str]:
    """Return the chapters of *Moby Dick* by their numbers, each from its heading on."""
    chapters = re.split(r"(?m)^(?=CHAPTER \d+\. )", MOBY_DICK.read_text(encoding="utf-8"))[1:]
    return {int(chapter.split(maxsplit=2)[1].rstrip(".")): chapter.strip() + "\n" for chapter in chapters}


def moby_dick_corpus() -> Corpus:
    """Return *Moby Dick* cut by whole chapters spread through it."""
    parts: dict[str, list[str]] = {"train": [], "dev": [], "test": []}
    for number, chapter in moby_dick().items():
        if number in TEST:
            parts["test"].append(chapter)
        elif number in DEV:
            parts["dev"].append(chapter)
        else:
            parts["train"].append(chapter)
    return Corpus(**parts)


def read_corpus(files: Sequence[Path], also: Sequence[Path] = ()) -> Corpus:
    """Return *Moby Dick*, or what these files hold: the last tenth of each is for validation, and none for a test.

    Of the files in ``also``, nothing is held out.

    Raises:
        UserError: a file is missing, is not text in UTF-8, or is too short to cut; the message names it.
    """
    others = [read_text(file, "--also") for file in also]
    if not files:
        return replace(moby_dick_corpus(), also=others)
    halves = [cut(read_text(file, "--text"), file) for file in files]
    return Corpus([first for first, _ in halves], [second for _, second in halves], [], others)


def cut(text: str, file: Path) -> tuple[str, str]:
    """Cut a text, at the end of a line or at least of a word, into what is learned and what is held out."""
    wanted = int(len(text) * (1 - HELD_OUT))
    for end in ("\n", " "):
        at = text.find(end, wanted) + 1
        if at and text[at:].strip() and text[:at].strip():
            return text[:at], text[at:]
    raise UserError(
        f"{relative_path(file)} is too short: its last tenth is held out, and that is empty; give a longer one"
    )


def read_text(file: Path, option: str) -> str:
    """Return the text of a file, which an option names.

    Raises:
        UserError: it is missing, a folder, or not text in UTF-8.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror}); give {option} a file") from error
    if b"\0" in data:
        raise UserError(f"{file} is not text: it has bytes of value 0. Give {option} plain text in UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{file} is not in UTF-8: byte {error.start} is {data[error.start]:#04x}. Save it as UTF-8, "
            f"for example with `iconv -f latin1 -t utf-8`"
        ) from error
