"""Find the Python blocks of a chapter in its Markdown, and run them in one module, as a reader would type them."""

from __future__ import annotations

import ast
import contextlib
import io
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TextIO

from markdown_it import MarkdownIt

NEEDS_MAX = ("max.", "solutions.solution", "steps.step", "play")
HINT = '<details class="hint">'


@dataclass(frozen=True)
class Block:
    """A block of Python: its first line in the chapter, from 1, and its text."""

    line: int
    source: str

    @property
    def first_line(self) -> str:
        """The line that it begins with, by which to recognize it."""
        return self.source.strip().partition("\n")[0]


@dataclass(frozen=True)
class Ran:
    """A block that has run: what it printed, and the traceback if it failed."""

    block: Block
    printed: str
    error: str = ""


def blocks_of(chapter: Path) -> list[Block]:
    """Return the Python blocks of a chapter from top to bottom, but not those in its hints.

    Raises:
        OSError: there is no such chapter.
    """
    found, in_hint = [], False
    for token in MarkdownIt("commonmark").parse(chapter.read_text(encoding="utf-8")):
        if token.type == "html_block":
            in_hint = (
                HINT in token.content if "<details" in token.content else in_hint and "</details>" not in token.content
            )
        if token.type == "fence" and token.info == "python" and token.map and not in_hint:
            found.append(Block(token.map[0] + 2, token.content))
    return found


def need_max(blocks: Sequence[Block]) -> bool:
    """Return whether one of some blocks uses MAX."""
    return any(word in block.source for block in blocks for word in NEEDS_MAX)


def run(blocks: Sequence[Block], chapter: str, *, also_to: TextIO | None = None) -> Iterator[Ran]:
    """Run blocks one after another in one module, up to the first that fails.

    Args:
        blocks: what to run.
        chapter: the path of their chapter, where a traceback finds their lines.
        also_to: also gets what they print, at once.
    """
    module = ModuleType("chapter")
    sys.modules["chapter"] = module
    for block in blocks:
        printed = Copied(also_to)
        try:
            with contextlib.redirect_stdout(printed):
                tree = ast.parse(block.source, chapter)
                ast.increment_lineno(tree, block.line - 1)  # line numbers are the chapter's own
                exec(compile(tree, chapter, "exec"), module.__dict__)
        except BaseException as error:
            frames = traceback.extract_tb(error.__traceback__)[1:]
            told = "".join(traceback.format_list(frames) + traceback.format_exception_only(error))
            yield Ran(block, printed.getvalue(), told)
            return
        yield Ran(block, printed.getvalue())


class Copied(io.StringIO):
    """Text that is kept, and written to a stream as well."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__()
        self.stream = stream

    def write(self, text: str) -> int:
        """Keep some text, and pass it on."""
        if self.stream:
            self.stream.write(text)
            self.stream.flush()
        return super().write(text)
