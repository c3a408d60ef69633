"""Run the blocks of a chapter with MAX prepared: on the reader's step if it is written, else on the solution."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.syntax import Syntax

from checker.course.languages import PYTHON
from checker.course.paths import ROOT, relative_path
from checker.course.steps import all_steps
from checker.session.printer import Printer
from play.own_steps import use_step
from play.reading.blocks import Block, blocks_of, need_max, run

CHAPTERS = ROOT / "book" / "src"


class NothingToTry(ValueError):
    """There is no such chapter, or it has no blocks; the message lists the chapters there are."""


def find_chapter(name: str) -> Path:
    """Return the chapter that a person means by ``08``, ``s08``, ``w01``, ``step_08`` or ``heads``.

    Raises:
        NothingToTry: there is none.
    """
    for step in all_steps():
        if name in (step.name, step.task, step.task.removeprefix("s")):
            return step.chapter
    path = CHAPTERS / f"{Path(name).stem}.md"
    if not path.is_file():
        there = ", ".join(sorted(path.stem for path in CHAPTERS.glob("*.md") if path.stem != "SUMMARY"))
        raise NothingToTry(f"there is no chapter {name!r}; choose from {there}")
    return path


def try_chapter(name: str, tell: Callable[[str], None], *, solution: bool) -> int:
    """Run the blocks of a chapter, showing each before what it prints; return the exit status.

    Args:
        name: the chapter.
        tell: called with whatever else is worth knowing.
        solution: run them on the solution, even where the reader's step is written.

    Raises:
        NothingToTry: there is no such chapter, or it has no blocks.
    """
    chapter = find_chapter(name)
    blocks = blocks_of(chapter) if chapter.is_file() else []
    if not blocks:
        raise NothingToTry(f"{relative_path(chapter)} has no Python blocks to run")
    if not solution:
        for step in all_steps():
            if step.chapter == chapter and step.language is PYTHON:
                tell(use_step(step))
    os.chdir(ROOT)  # the paths in a chapter begin there
    sys.path.insert(0, str(ROOT))
    printer = Printer()
    if not need_max(blocks):
        return _run(blocks, chapter, printer)
    from checker.max_adapter.runtime import listeners, prepare
    from checker.session.waiting import telling_of_compiling

    prepare()
    with telling_of_compiling(listeners):
        return _run(blocks, chapter, printer)


def _run(blocks: Sequence[Block], chapter: Path, printer: Printer) -> int:
    path = relative_path(chapter)

    def show(number: int) -> None:
        printer.line(f"{path}, line {blocks[number].line} ({number + 1} of {len(blocks)})")
        printer.console.print(
            Syntax(blocks[number].source.rstrip(), "python", background_color="default", word_wrap=True)
        )
        printer.line("")

    show(0)
    for number, ran in enumerate(run(blocks, path, also_to=sys.stdout), start=1):
        if ran.error:
            sys.stderr.write(ran.error)
            return 1
        printer.line("")
        if number < len(blocks):
            show(number)
    return 0
