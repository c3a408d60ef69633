"""A learner's kernel as a module: compiled once and kept, loaded into this process, its functions on NumPy arrays."""

from __future__ import annotations

import ctypes
import functools
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np
from mojo.run import subprocess_run_mojo

from checker.compiling import Compiler, compiling
from checker.course.languages.mojo import without_comments_and_strings
from checker.course.reading import Unreadable
from checker.course.source import Source
from checker.course.steps import Step
from checker.errors import UserError
from checker.files import ROOT, digest, remove_unused, replacing, use_if_kept
from checker.machine import instruction_line, why_mojo_cannot_link
from checker.mojo.mojo_errors import explain_error, fault_of_the_machine
from checker.packages import installed_version

LIBRARY, BINDING, OPERATION = "library.mojo", "binding.py", "__init__.mojo"
FLAGS = ("--emit", "shared-lib", "--disable-warnings")  # of the compiler
KEPT = ROOT / ".course" / "mojo"  # has 70 kilobytes for each text that was compiled


class CompilationError(Exception):
    """Mojo's compiler refuses a text; the message is all that the compiler printed."""


def shared_library(texts: Mapping[str, str], main: str, name: str) -> Path:
    """Return the library that Mojo makes of the file ``main``, one of the ``texts``, which are given by name.

    Raises:
        CompilationError: a text is no Mojo.
        UserError: nothing can be compiled on this machine.
    """
    names_and_texts = [part for file in sorted(texts) for part in (file, texts[file])]
    library = KEPT / f"{digest(installed_version(), instruction_line(), *FLAGS, main, *names_and_texts)}.so"
    if use_if_kept(library):
        return library
    try:
        if reason := why_mojo_cannot_link():
            raise UserError(reason)
        build_and_keep(texts, main, name, library)
    except OSError as error:
        raise UserError(fault_of_the_machine(str(error))) from error
    return library


def build_and_keep(texts: Mapping[str, str], main: str, name: str, library: Path) -> None:
    """Have Mojo make the ``library``, and remove libraries that nobody uses."""
    with tempfile.TemporaryDirectory() as folder:
        for file, text in texts.items():
            Path(folder, file).write_text(text, encoding="utf-8")
        target = Path(folder, "made.so")
        build(Path(folder, main), target, name)
        KEPT.mkdir(parents=True, exist_ok=True)
        with replacing(library) as unfinished:
            shutil.copy(target, unfinished)
        remove_unused(KEPT, "*.so")


def build(main: Path, target: Path, name: str) -> None:
    """Have Mojo make a library of a file.

    Raises:
        CompilationError: Mojo refuses the text.
        UserError: Mojo cannot compile anything on this machine.
    """
    command = ["build", *FLAGS, "-o", str(target), str(main)]
    with compiling(name, Compiler.MOJO):
        process = subprocess_run_mojo(command, capture_output=True, text=True, cwd=main.parent)
    if process.returncode:
        output = process.stdout + process.stderr
        if reason := fault_of_the_machine(output):
            raise UserError(reason)
        raise CompilationError(output)


class StillToWrite(NotImplementedError):
    """A function was called that is still to write, or that calls such a function."""

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
        return functools.partial(_call, function)


def _call(function: Callable[..., None], *arguments: np.ndarray | np.integer | int | float) -> None:
    function(*[_argument(value) for value in arguments])


def open_library(path: Path) -> Library:
    """Load a library that was compiled.

    Raises:
        UserError: the library is damaged, say, or on a disk from which nothing may run.
    """
    try:
        return Library(path)
    except OSError as error:
        raise UserError(f"the compiled kernel cannot be loaded: {error}. Delete the folder .course/mojo") from error


def _argument(value: np.ndarray | np.integer | int | float) -> Any:
    """Return an argument as C takes it: an array by its address."""
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return ctypes.c_int64(value.ctypes.data)
    return ctypes.c_int64(int(value)) if isinstance(value, int | np.integer) else ctypes.c_float(value)


def load_kernel(step: Step, name: str, source: str, path: str) -> ModuleType:
    """Return a module with the functions of a step in Mojo, as ``source`` has them, on NumPy arrays.

    A function that is still to write, or calls such a function, raises :class:`StillToWrite`.

    Raises:
        Unreadable: the source does not compile.
        UserError: nothing can be compiled on this machine, or the library cannot be loaded.
    """
    library = open_library(build_library(step, source))
    functions = {function.__name__: function for function in _import_binding(step).FUNCTIONS}
    module = ModuleType(name)
    module.__file__ = path
    calls = _calls_of_written(step, Source(source), functions)
    for label, function in functions.items():
        to_write = _first_unwritten(label, calls)
        if to_write:
            setattr(module, label, functools.partial(_stop, to_write))
        else:
            setattr(module, label, functools.partial(function, library))
    module.operation = functools.partial(operation_folder, step, source)  # type: ignore[attr-defined] # for MAX
    return module


def _import_binding(step: Step) -> ModuleType:
    """Return the module that calls a kernel's C functions; its ``FUNCTIONS`` are the functions of the step."""
    spec = spec_from_file_location(f"{step.name}.binding", step.kernel_folder / BINDING)
    assert spec
    assert spec.loader
    binding = module_from_spec(spec)
    spec.loader.exec_module(binding)
    return binding


def build_library(step: Step, source: str) -> Path:
    """Return the shared library of a kernel.

    Raises:
        Unreadable: the source does not compile.
    """
    texts = {f"{step.name}.mojo": source, LIBRARY: (step.kernel_folder / LIBRARY).read_text(encoding="utf-8")}
    try:
        return shared_library(texts, LIBRARY, "your kernel")
    except CompilationError as error:
        sentence, location = explain_error(str(error), source, f"{step.name}.mojo")
        raise Unreadable(sentence, "does not compile", location=location) from error


def operation_folder(step: Step, source: str, folder: Path) -> Path:
    """Write the folder that MAX takes as an extension: the learner's file, and one that registers its operation."""
    folder.mkdir(exist_ok=True)
    (folder / f"{step.name}.mojo").write_text(source, encoding="utf-8")
    shutil.copyfile(step.kernel_folder / OPERATION, folder / OPERATION)
    return folder


def _stop(blank: str, *arguments: Any) -> NoReturn:
    """Stand in for a function that cannot be called before ``blank`` is written."""
    raise StillToWrite(blank)


def _calls_of_written(step: Step, source: Source, labels: Collection[str]) -> dict[str, list[str]]:
    """Return the functions of a kernel that are written, and for each which others it calls."""
    functions = step.language.functions(source)
    lines = without_comments_and_strings(source.text).split("\n")
    calls = {}
    for label in labels:
        if label in functions and not functions[label].stop_line:
            text = "\n".join(lines[functions[label].def_line : functions[label].last])
            calls[label] = [other for other in labels if other != label and re.search(rf"\b{other}\b", text)]
    return calls


def _first_unwritten(label: str, calls: Mapping[str, Collection[str]], callers: Collection[str] = ()) -> str:
    """Return the first unwritten function among one and all that it calls, itself or through others; or nothing.

    Args:
        label: the function.
        calls: the functions that are written, and which others each of them calls.
        callers: the functions on the way to this one, which have been looked at already.
    """
    if label not in calls:
        return label
    if label in callers:
        return ""
    for callee in calls[label]:
        if to_write := _first_unwritten(callee, calls, {*callers, label}):
            return to_write
    return ""
