"""Load the modules that a check can grade: a learner's file, a solution, and a solution spoiled or rewritten."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, ModuleType

from checker.course.languages import PYTHON
from checker.course.steps import Step

Tell = Callable[[str, float | None], None]  # what is compiled, and None or the seconds that it took


def loader_of(step: Step) -> Callable[[str, str, str, Tell], ModuleType]:
    """Return what runs the file of a step or, where it is a kernel, compiles it.

    It takes the module's name, the source, its path, and what hears of compiling.
    """
    if step.language is PYTHON:
        return lambda name, source, path, tell: load_source(name, source, path)
    from checker.mojo.library import load_kernel

    def load(name: str, source: str, path: str, tell: Tell) -> ModuleType:
        _remember(source, path)
        return load_kernel(step, name, source, path, tell)

    return load


def load_source(name: str, source: str, path: str) -> ModuleType:
    """Run ``source`` as the module ``name``; tracebacks show its lines as those of ``path``."""
    _remember(source, path)
    return load_code(name, compile(source, path, "exec"))


def load_code(name: str, code: CodeType) -> ModuleType:
    """Run ``code`` as the module ``name``."""
    module = ModuleType(name)
    module.__file__ = code.co_filename
    sys.modules[name] = module
    exec(code, module.__dict__)
    return module


def load_file(path: Path) -> ModuleType:
    """Run a file of this repository as a module of its own."""
    return load_source(f"graded.{path.stem}", path.read_text(), str(path))


def _remember(source: str, path: str) -> None:
    """Let whatever shows a line of ``path`` show that of this source."""
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
