"""A learner's kernel as a module: compiled, loaded into this process, its functions on NumPy arrays."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from checker.course.languages import Unreadable
from checker.course.steps import Step
from checker.events import THE_KERNEL
from checker.mojo.building import CompilationError, Tell, shared_library
from checker.mojo.messages import in_words

LIBRARY, BINDING, OPERATION = "library.mojo", "binding.py", "__init__.mojo"


class StillToWrite(NotImplementedError):
    """A function was called that is still to write, or that calls one which is."""

    def __init__(self, blank: str) -> None:
        super().__init__(f"{blank} is still to write")
        self.blank = blank


class Library:
    """A shared library whose C functions take addresses, whole numbers and float32 numbers, and return nothing."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Return a C function; an array stands for the address of its first number."""
        function = getattr(self._library, name)
        function.restype = None

        def call(*arguments: np.ndarray | int | float) -> None:
            function(*map(_argument, arguments))

        return call


def _argument(one: np.ndarray | int | float) -> Any:
    if isinstance(one, np.ndarray):
        assert one.flags.c_contiguous
        return ctypes.c_int64(one.ctypes.data)
    return ctypes.c_int64(one) if isinstance(one, int) else ctypes.c_float(one)


def load_kernel(step: Step, name: str, source: str, path: str, tell: Tell) -> ModuleType:
    """Return a module with the functions of a step in Mojo, as ``source`` has them, on NumPy arrays.

    A function that is still to write, or calls one that is, raises :class:`StillToWrite`.

    Raises:
        Unreadable: the source does not compile.
    """
    library = Library(compiled(step, source, tell))
    binding: dict[str, Any] = {}
    file = step.kernel_folder / BINDING
    exec(compile(file.read_text(), str(file), "exec"), binding)
    module = ModuleType(name)
    module.__file__ = path
    taught = {name: function for name, function in binding.items() if _is_bound(function)}
    waiting = _waiting(step, source, taught)
    for label, function in taught.items():
        stopped = _stopped(waiting[label]) if label in waiting else None
        setattr(module, label, stopped or functools.partial(function, library))
    module.operation = functools.partial(operation_folder, step, source)  # type: ignore[attr-defined] # for MAX
    return module


def compiled(step: Step, source: str, tell: Tell = lambda what, seconds: None) -> Path:
    """Return the shared library of a kernel; ``tell`` hears of compiling.

    Raises:
        Unreadable: the source does not compile.
    """
    try:
        return shared_library(texts_of(step, source), LIBRARY, THE_KERNEL, tell)
    except CompilationError as error:
        sentence, location = in_words(error.said, source, f"{step.name}.mojo")
        raise Unreadable(sentence, "does not compile", location=location) from error


def texts_of(step: Step, source: str) -> Mapping[str, str]:
    """Return the texts that make a library of a learner's file."""
    return {f"{step.name}.mojo": source, LIBRARY: (step.kernel_folder / LIBRARY).read_text()}


def operation_folder(step: Step, source: str, folder: Path) -> Path:
    """Write the folder that MAX takes as an extension: the learner's file and what registers its operation."""
    folder.mkdir(exist_ok=True)
    (folder / f"{step.name}.mojo").write_text(source)
    (folder / OPERATION).write_text((step.kernel_folder / OPERATION).read_text())
    return folder


def _is_bound(function: object) -> bool:
    """Return whether something of a binding is a function of the kernel: it takes the library first."""
    return isinstance(function, FunctionType) and function.__code__.co_varnames[:1] == ("library",)


def _stopped(blank: str) -> Callable[..., Any]:
    def stop(*arguments: Any) -> Any:
        raise StillToWrite(blank)

    return stop


def _waiting(step: Step, source: str, labels: Collection[str]) -> Mapping[str, str]:
    """Return the functions that cannot be called yet, and the first function to write of those they call."""
    language = step.language
    functions, lines = language.functions(source), source.splitlines()

    def to_write(label: str, seen: Collection[str] = ()) -> Iterator[str]:
        if label not in functions or language.stops(source, label):
            yield label
        elif label not in seen:
            text = "\n".join(lines[functions[label].defined : functions[label].last])
            for other in labels:
                if other != label and re.search(rf"\b{other}\b", text):
                    yield from to_write(other, {*seen, label})

    return {label: first for label in labels if (first := next(to_write(label), ""))}
