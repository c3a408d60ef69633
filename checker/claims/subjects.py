"""Load the modules that a check can grade: a learner's file, a solution, and a solution spoiled or rewritten.

A learner's file may import earlier solutions; one that reads the answer to its own step is told so.
"""

from __future__ import annotations

import functools
import linecache
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, ModuleType
from typing import Any

from checker.claims.vocabulary import Refusal
from checker.course.languages import PYTHON
from checker.course.steps import SOLUTIONS, Step, relative_path

_closed: dict[str, str] = {}  # the files that may not be opened now, without links, and their names
Compiles = Callable[[str, float | None], None]  # what is compiled, and None or the seconds that it took


def load_step(
    step: Step, name: str, source: str, path: str, compiling: Compiles = lambda what, seconds: None
) -> ModuleType:
    """Run the file of a step as the module ``name`` or, where it is a kernel, compile it.

    Args:
        step: whose file.
        name: of the module.
        source: the text of the file.
        path: where it is; tracebacks show its lines as those of this path.
        compiling: hears of compiling a kernel.

    Raises:
        Unreadable: the kernel does not compile.
    """
    if step.language is PYTHON:
        return load_source(name, source, path)
    from checker.mojo.library import load_kernel

    remember(source, path)
    return load_kernel(step, name, source, path, compiling)


def load_source(name: str, source: str, path: str) -> ModuleType:
    """Run ``source`` as the module ``name``; tracebacks show its lines as those of ``path``."""
    remember(source, path)
    return load_code(name, compile(source, path, "exec"))


def load_code(name: str, code: CodeType) -> ModuleType:
    """Run ``code`` as the module ``name``."""
    module = ModuleType(name)
    module.__file__ = code.co_filename
    sys.modules[name] = module
    exec(code, module.__dict__)
    return module


@functools.cache  # while a file is graded, it may not be opened
def load_answer(step: Step) -> ModuleType:
    """Return the solution of a step, of a kernel its model, as a module of its own; it is run once."""
    path = step.model_file
    return load_source(f"answer.{step.name}", path.read_text(), str(path))


def remember(source: str, path: str) -> None:
    """Let whatever shows a line of ``path`` show that of this source."""
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)


@contextmanager
def answer_closed(step: Step) -> Iterator[None]:
    """While this is open, whatever opens the answer to a step, or imports it, is refused."""
    _watch_open()
    kind = step.solution_file.stem.rpartition("_")[0]
    later = [path for path in SOLUTIONS.glob(f"{kind}_*.*") if path.stem >= step.solution_file.stem]
    for path in [*later, step.model_file, step.attempts_file, step.reference_file]:
        for file in [path, *path.parent.glob(f"__pycache__/{path.stem}.*")]:
            _closed[os.path.realpath(file)] = relative_path(path)
    try:
        yield
    finally:
        _closed.clear()


@functools.cache
def _watch_open() -> None:
    """Have Python report every file that it opens, which an import does too. This cannot be undone, so do it once."""

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if not _closed or event != "open" or not isinstance(arguments[0], str | bytes):
            return
        if answer := _closed.get(os.path.realpath(os.fsdecode(arguments[0]))):
            raise Refusal(
                f"Your file opens {answer}, the answer to this step. "
                "Write your own, and compare with it once the check passes."
            )

    sys.addaudithook(watch)
