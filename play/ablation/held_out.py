"""The chapters of Moby Dick that the small model was not trained on: the text of all figures in bits per byte."""

from __future__ import annotations

import re

from checker.course.paths import SMALL_MODEL

FILE = SMALL_MODEL / "held_out.txt"


def by_number(text: str) -> dict[int, str]:
    """Return the chapters of a text by their numbers, each from its heading on."""
    found = re.split(r"(?m)^(?=CHAPTER \d+\. )", text)[1:]
    return {int(chapter.split(maxsplit=2)[1].rstrip(".")): chapter for chapter in found}


def chapters() -> dict[int, str]:
    """Return the held-out chapters by their numbers."""
    return by_number(FILE.read_text(encoding="utf-8"))
