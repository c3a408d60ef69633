"""Tell a learner whose file reads the answer to its own step. Earlier solutions may be imported."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from checker.course.paths import SOLUTIONS, relative_path
from checker.course.steps import Step
from checker.diagnosis.exceptions import AnswerWasRead

File = tuple[int, int]  # the device and inode, which all paths to a file share

_closed: dict[File, str] = {}  # the files that may not be opened now, and their names


@contextmanager
def kept_closed(step: Step) -> Iterator[None]:
    """While this is open, whatever opens the answer to a step, or imports it, gets AnswerWasRead."""
    _watch_open()
    kind = step.solution_file.stem.rpartition("_")[0]
    later = [path for path in SOLUTIONS.glob(f"{kind}_*.*") if path.stem >= step.solution_file.stem]
    for path in [*later, step.model_file, step.attempts_file, step.reference_file]:
        for file in [path, *path.parent.glob(f"__pycache__/{path.stem}.*")]:
            if file.is_file():
                _closed[_identity(file)] = relative_path(path)
    try:
        yield
    finally:
        _closed.clear()


def _identity(path: Any) -> File:
    found = os.stat(path)
    return found.st_dev, found.st_ino


@functools.cache
def _watch_open() -> None:
    """Have Python report every file that it opens, which an import does too. This cannot be undone, so do it once."""

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if _closed and event == "open" and isinstance(arguments[0], str | bytes):
            with suppress(OSError, ValueError):
                if answer := _closed.get(_identity(arguments[0])):
                    raise AnswerWasRead(f"opens {answer}, the answer to this step")

    sys.addaudithook(watch)
