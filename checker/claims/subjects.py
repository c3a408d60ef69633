"""Load the modules that a check can grade: a learner's file, a solution, and a solution spoiled or rewritten."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import CodeType, ModuleType


def load_source(name: str, source: str, path: str) -> ModuleType:
    """Run ``source`` as the module ``name``; tracebacks show its lines as those of ``path``."""
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
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
