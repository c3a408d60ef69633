"""The chapters of the book as text: where they are, their fences, and how a fault in one is reported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.errors import UserError
from checker.files import ROOT

SRC = ROOT / "book" / "src"
NEEDS_MAX = ("max.", "solutions.solution", "steps.step", "play")
FENCE = re.compile(r"^(?P<indent>\s*)(?P<marks>`{3,}|~{3,})(?P<info>[^`]*)$")


class Fault(Exception):
    """Something in a chapter that has to be changed: which chapter, which line, and what to do."""

    def __init__(self, chapter: str, line: int, sentence: str) -> None:
        super().__init__(f"book/src/{chapter}:{line}: {sentence}")


@dataclass(frozen=True)
class Fence:
    """A fenced block: ``first`` and ``last`` are the lines of its marks, from 1."""

    info: str  # "python"
    first: int
    last: int
    lines: tuple[str, ...]  # between the marks, without the block's own indent
    indent: str

    @property
    def text(self) -> str:
        """What is between the marks."""
        return "".join(f"{line}\n" for line in self.lines)


def chapters() -> list[Path]:
    """Return the chapters there are, in the order of their names; SUMMARY.md is not one."""
    return sorted(path for path in SRC.glob("*.md") if path.name != "SUMMARY.md")


def find_chapter(name: str) -> str:
    """Return the file of the chapter a person means by ``step_07``, ``07``, ``s07``, ``w01`` or ``book/src/setup.md``.

    Raises:
        UserError: there is none; the message lists those there are.
    """
    stem = re.sub(r"^s?(\d\d)$", r"step_\1", re.sub(r"^w(\d\d)$", r"warmup_\1", Path(name).stem))
    known = [path.stem for path in chapters()]
    if stem not in known:
        raise UserError(f"there is no chapter {name!r}; choose from {', '.join(known)}")
    return f"{stem}.md"


def fences(chapter: str, text: str) -> list[Fence]:
    """Return the fenced blocks of a chapter, from top to bottom.

    Raises:
        Fault: a block is never closed.
    """
    blocks: list[Fence] = []
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        opened = FENCE.match(lines[number])
        number += 1
        if not opened:
            continue
        first, indent = number, opened["indent"]
        closing = re.compile(rf"^\s*{re.escape(opened['marks'][0])}{{{len(opened['marks'])},}}\s*$")
        while number < len(lines) and not closing.match(lines[number]):
            number += 1
        if number == len(lines):
            raise Fault(chapter, first, f"the block that begins here is never closed: add a line {opened['marks']}")
        inside = tuple(line.removeprefix(indent) for line in lines[first:number])
        number += 1
        blocks.append(Fence(opened["info"].strip(), first, number, inside, indent))
    return blocks


def python_fences(chapter: str, text: str) -> list[Fence]:
    """Return the blocks of Python that a chapter runs, which are all but those in its folded hints."""
    lines = text.splitlines()
    return [fence for fence in fences(chapter, text) if fence.info == "python" and not _is_in_hint(fence, lines)]


def _is_in_hint(fence: Fence, lines: Sequence[str]) -> bool:
    """Return whether a block of a chapter with these lines is in a folded hint."""
    before = "\n".join(lines[: fence.first])
    return before.rfind('<details class="hint"') > before.rfind("</details>")


def need_max(blocks: Iterable[Fence]) -> bool:
    """Return whether any of these blocks of Python uses MAX."""
    return any(word in block.text for block in blocks for word in NEEDS_MAX)


def prose(chapter: str, text: str) -> Iterator[tuple[int, str]]:
    """Return the lines outside fenced blocks, with their numbers from 1."""
    inside = {number for fence in fences(chapter, text) for number in range(fence.first, fence.last + 1)}
    for number, line in enumerate(text.splitlines(), start=1):
        if number not in inside:
            yield number, line
