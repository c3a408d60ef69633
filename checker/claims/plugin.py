"""What a claim can ask for: the module that is graded, the answer, recorded and drawn numbers, as a pytest plugin.

Under the checker the module graded is the learner's; under plain ``pytest`` it is the solution. A learner's file may
import earlier solutions; one that reads the answer to its own step is told so.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

from checker.claims.observation import SUBJECTS
from checker.claims.vocabulary import Refusal
from checker.course.languages import PYTHON
from checker.course.steps import SOLUTIONS, STEPS, Step, relative_path
from checker.numeric.references import Draw, Reference
from checker.numeric.tolerance import TF32_TOLERANCE, TOLERANCE, in_use

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
    """Run ``code`` as the module ``name``; what lies beside its file can be imported, plainly or relatively."""
    module, folder = ModuleType(name), Path(code.co_filename).parent
    module.__file__ = code.co_filename
    if folder in (STEPS, SOLUTIONS):
        module.__package__ = folder.name
    if folder == STEPS and str(folder) not in sys.path:
        sys.path.append(str(folder))
    sys.modules[name] = module
    exec(code, module.__dict__)
    return module


@cache  # while a file is graded, it may not be opened
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


@cache
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


# ---------------------------------------------------------------- fixtures

SMALLEST_AVOIDED = 5  # smaller sizes are too few to do without any

read_reference = cache(Reference)  # once per process: while a file is graded, it may not be opened


def step_of(path: Path) -> Step:
    """Return the step whose check file is running."""
    return Step(path.stem.removeprefix("test_"))


@pytest.fixture(scope="module")
def step(request: pytest.FixtureRequest) -> ModuleType:
    """Return the module that is graded; the checker puts others in its place."""
    graded = request.config.stash.get(SUBJECTS, {})
    if graded:
        return graded[request.param]
    step = step_of(request.path)
    source, path = step.solution_file.read_text(), str(step.solution_file)
    return load_step(step, f"graded.{step.name}", source, path)


@pytest.fixture(scope="module")
def reference(request: pytest.FixtureRequest) -> Reference:
    """Return Hugging Face's recorded numbers for this step."""
    return read_reference(step_of(request.path).reference_file)


@pytest.fixture(scope="module")
def config(reference: Reference) -> Any:
    """Return the awkward configuration that the reference was recorded with."""
    from solutions.solution_01 import GPT2Config  # not before it is asked for: it is the answer to step 01

    return GPT2Config(**reference.config)


@pytest.fixture(scope="module")
def answer(request: pytest.FixtureRequest) -> ModuleType:
    """Return the solution, for claims about numbers that nobody has recorded."""
    return load_answer(step_of(request.path))


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> Draw:
    """Return the Draw of another configuration, which avoids the recorded sizes."""
    file = step_of(request.path).reference_file
    recorded = read_reference(file) if file.is_file() else None
    sizes = {size for array in recorded.values() for size in array.shape} if recorded else set()
    settings = {value for value in recorded.config.values() if isinstance(value, int)} if recorded else set()
    return Draw(getattr(request, "param", 0), {size for size in sizes | settings if size >= SMALLEST_AVOIDED})


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the device to compile for, ``cpu`` or ``gpu``; numbers are compared as far as its products go."""
    from checker.max_adapter.runtime import uses_tf32

    before = in_use.set(TF32_TOLERANCE if uses_tf32(request.param) else TOLERANCE)
    yield request.param
    in_use.reset(before)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--device``, as the check has it."""
    parser.addoption("--device", choices=["cpu", "gpu"], help="compile for this device alone")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    config.addinivalue_line("markers", "drawn: a claim about a configuration drawn anew, beside the solution")
    config.addinivalue_line("markers", "compiled: a claim about the module that MAX compiled; graded last")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a claim that asks for a ``device`` on every device there is."""
    if "device" in metafunc.fixturenames:
        from checker.max_adapter.runtime import devices

        chosen = metafunc.config.getoption("device")
        metafunc.parametrize("device", [chosen] if chosen else devices(), indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put claims about numbers first and compiled claims last; prepare MAX if a collected file has imported it."""
    if "checker.max_adapter.runtime" in sys.modules:
        sys.modules["checker.max_adapter.runtime"].prepare()
    items.sort(key=lambda item: item.get_closest_marker("compiled") is not None)
