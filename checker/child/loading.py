"""Load the file of a step as a module, by running or compiling it: the learner's, a solution, or a mixture of both.

A trick, ``linecache``: the text that is run is put into Python's cache of lines, in the place of the file.
"""

from __future__ import annotations

import linecache
import sys
import warnings
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType

from checker.child.former_calls import accept_former_calls
from checker.course.languages import PYTHON
from checker.course.source import Source
from checker.course.steps import SOLUTIONS, STEPS, Step


def load_step(step: Step, name: str, source: Source, path: str) -> ModuleType:
    """Run the file of a step as the module ``name`` or, where it is a kernel, compile it.

    Args:
        step: the step of the file.
        name: the name of the module.
        source: the text of the file.
        path: where the file is; tracebacks show the lines of the text as those of this path.

    Raises:
        Unreadable: the kernel does not compile.
    """
    if step.language is PYTHON:
        return load_source(name, source, path)
    from checker.mojo.library import load_kernel

    remember_lines(source, path)
    return load_kernel(step, name, source.text, path)


def load_source(name: str, source: Source, path: str) -> ModuleType:
    """Run ``source`` as the module ``name``; tracebacks show its lines as those of ``path``."""
    remember_lines(source, path)
    return load_code(name, source.compiled(path))


def load_code(name: str, code: CodeType) -> ModuleType:
    """Run ``code`` as the module ``name``; it can import the modules beside its file, plainly or relatively."""
    module = ModuleType(name)
    folder = Path(code.co_filename).parent
    module.__file__ = code.co_filename
    if folder in (STEPS, SOLUTIONS):
        module.__package__ = folder.name
    if folder == STEPS and str(folder) not in sys.path:
        sys.path.append(str(folder))
    sys.modules[name] = module
    with warnings.catch_warnings(action="ignore"):  # pytest drops warnings in claims, too
        exec(code, module.__dict__)
    if folder != SOLUTIONS:
        accept_former_calls(module)
    return module


@cache
def load_solution(step: Step) -> ModuleType:
    """Return the solution of a step as a module, or the model of a kernel; it is run once."""
    path = step.model_file
    return load_source(f"solution.{step.name}", Source(path.read_text(encoding="utf-8")), str(path))


def remember_lines(source: Source, path: str) -> None:
    """Let whatever shows a line of the file ``path`` show the line of this source."""
    linecache.cache[path] = (len(source.text), None, [f"{line}\n" for line in source.lines], path)
