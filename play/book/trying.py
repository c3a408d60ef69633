"""Run the blocks of a chapter with MAX prepared: on the reader's step if it is written, else on the solution."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType

from rich.syntax import Syntax

from checker.course.steps import all_steps, relative_path
from checker.errors import UserError
from checker.files import ROOT
from checker.terminal import Terminal
from play.book.chapters import SRC, Fence, find_chapter, need_max, python_fences
from play.mine import choice
from play.serving.options import check_version
from play.startup import Tell, ready_to_run


def try_chapter(name: str, tell: Tell, *, solution: bool) -> int:
    """Run the blocks of a chapter, showing each before what it prints; return the exit status.

    Args:
        name: the chapter.
        tell: called with further messages.
        solution: run the blocks on the solution, even if the reader's step is written.

    Raises:
        UserError: there is no such chapter, it has no blocks, or they need MAX's server, which is not installed.
    """
    chapter = SRC / find_chapter(name)
    blocks = python_fences(chapter.name, chapter.read_text(encoding="utf-8"))
    if not blocks:
        raise UserError(f"{relative_path(chapter)} has no Python blocks to run; `./run book` shows it")
    for step in all_steps():
        if step.chapter == chapter and not solution:
            own = choice.file_if_complete(step)
            own.install()
            for sentence in own.sentences:
                tell(sentence)
    if any("play.serving" in block.text for block in blocks):
        check_version()
    os.chdir(ROOT)  # the paths in a chapter begin there
    sys.path.insert(0, str(ROOT))
    if not need_max(blocks):
        return _run(blocks, relative_path(chapter))
    with ready_to_run(tell):
        return _run(blocks, relative_path(chapter))


def _run(blocks: Sequence[Fence], chapter: str) -> int:
    terminal, module = Terminal(), ModuleType("chapter")
    sys.modules[module.__name__] = module
    for number, block in enumerate(blocks, start=1):
        terminal.line(f"{chapter}, line {block.first + 1} ({number} of {len(blocks)})")
        terminal.console.print(Syntax(block.text.rstrip(), "python", background_color="default", word_wrap=True))
        terminal.line("")
        try:  # whose line numbers are the chapter's own
            exec(compile("\n" * block.first + block.text, chapter, "exec"), module.__dict__)
        except Exception as error:
            sys.stdout.flush()
            traceback.print_exception(error.with_traceback(error.__traceback__ and error.__traceback__.tb_next))
            return 1
        terminal.line("")
    return 0
