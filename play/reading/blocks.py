"""Run the Python blocks of a chapter in one module, as a reader would type them."""

from __future__ import annotations

import ast
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

NEEDS_MAX = ("max.", "solutions.solution", "steps.step", "play")


@dataclass(frozen=True)
class Block:
    """A block of Python: its first line in the chapter, from 1, and its text."""

    line: int
    source: str


def need_max(blocks: Sequence[Block]) -> bool:
    """Return whether any of these blocks uses MAX."""
    return any(word in block.source for block in blocks for word in NEEDS_MAX)


class Runner:
    """Runs blocks one after another in one module.

    Args:
        chapter: the path of their chapter, where a traceback finds their lines.
    """

    def __init__(self, chapter: str) -> None:
        self.chapter = chapter
        self.module = sys.modules["chapter"] = ModuleType("chapter")

    def run(self, block: Block) -> str:
        """Run a block; return the traceback if it failed, else an empty string."""
        try:
            tree = ast.parse(block.source, self.chapter)
            ast.increment_lineno(tree, block.line - 1)  # line numbers are the chapter's own
            exec(compile(tree, self.chapter, "exec"), self.module.__dict__)
        except BaseException as error:
            frames = traceback.extract_tb(error.__traceback__)[1:]
            return "".join(traceback.format_list(frames) + traceback.format_exception_only(error))
        return ""
