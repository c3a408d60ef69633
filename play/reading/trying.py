"""Run the blocks of a chapter with MAX prepared: on the reader's step if it is written, else on the solution."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from rich.syntax import Syntax

from checker.course.languages.python import PYTHON
from checker.course.paths import ROOT, relative_path
from checker.course.steps import all_steps
from checker.errors import UserError
from checker.session.printer import Printer
from play.own_steps import use_step
from play.preparing import prepared
from play.reading.blocks import Block, Runner, need_max
from play.reading.chapters import SRC, find_chapter, python_fences


def try_chapter(name: str, tell: Callable[[str], None], *, solution: bool) -> int:
    """Run the blocks of a chapter, showing each before what it prints; return the exit status.

    Args:
        name: the chapter.
        tell: called with whatever else is worth knowing.
        solution: run them on the solution, even where the reader's step is written.

    Raises:
        UserError: there is no such chapter, or it has no blocks.
    """
    chapter = SRC / find_chapter(name)
    fences = python_fences(chapter.name, chapter.read_text(encoding="utf-8"))
    blocks = [Block(fence.first + 1, fence.text) for fence in fences]
    if not blocks:
        raise UserError(f"{relative_path(chapter)} has no Python blocks to run; `./run book` shows it")
    for step in all_steps():
        if step.chapter == chapter and step.language is PYTHON and not solution:
            tell(use_step(step))
    os.chdir(ROOT)  # the paths in a chapter begin there
    sys.path.insert(0, str(ROOT))
    if not need_max(blocks):
        return _run(blocks, relative_path(chapter))
    with prepared(tell):
        return _run(blocks, relative_path(chapter))


def _run(blocks: Sequence[Block], chapter: str) -> int:
    printer, runner = Printer(), Runner(chapter)
    for number, block in enumerate(blocks, start=1):
        printer.line(f"{chapter}, line {block.line} ({number} of {len(blocks)})")
        printer.console.print(Syntax(block.source.rstrip(), "python", background_color="default", word_wrap=True))
        printer.line("")
        if error := runner.run(block):
            sys.stdout.flush()
            sys.stderr.write(error)
            return 1
        printer.line("")
    return 0
