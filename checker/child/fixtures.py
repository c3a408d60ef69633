"""The pytest plugin with the fixtures of claims: the module that is checked, the solution, recorded and drawn numbers.

In a check, the module that is checked is the learner's; under plain ``pytest``, it is the solution.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from checker.child.loading import load_solution, load_step
from checker.child.selection import SUBJECTS
from checker.course.steps import Step
from checker.device import DeviceKind
from checker.numeric.references import Draw, Reference
from checker.numeric.tolerance import TF32_TOLERANCE, TOLERANCE, tolerance_now

SMALLEST_AVOIDED = 5  # smaller sizes are drawn anyway: there are too few of them
USUAL_SIZES = {5, 7, 15}  # of a head, a sequence and a model, in recordings and in the claims' own inputs

read_reference = cache(Reference)  # once per process


def step_of(path: Path) -> Step:
    """Return the step of a check file."""
    return Step(path.stem.removeprefix("test_"))


@pytest.fixture(scope="module")
def subject(request: pytest.FixtureRequest) -> ModuleType:
    """Return the subject of a claim: one of a check's or, without a check, the solution."""
    subjects = request.config.stash.get(SUBJECTS, {})
    if subjects:
        return subjects[request.param]
    step = step_of(request.path)
    return load_step(step, f"checked.{step.name}", step.read_solution(), str(step.solution_file))


@pytest.fixture(scope="module")
def reference(request: pytest.FixtureRequest) -> Reference:
    """Return Hugging Face's recorded numbers for this step."""
    return read_reference(step_of(request.path).reference_file)


@pytest.fixture(scope="module")
def config(reference: Reference) -> Any:
    """Return the awkward configuration that the reference was recorded with."""
    from solutions.solution_01 import GPT2Config  # only once a claim asks for it: it is the solution of step 01

    return GPT2Config(**reference.config)


@pytest.fixture(scope="module")
def solution(request: pytest.FixtureRequest) -> ModuleType:
    """Return the solution, for claims about numbers that nobody has recorded."""
    return load_solution(step_of(request.path))


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> Draw:
    """Return the Draw of another configuration, which avoids the sizes of the recorded one."""
    sizes_to_avoid, file = set(USUAL_SIZES), step_of(request.path).reference_file
    if file.is_file():
        recorded_numbers = read_reference(file)
        sizes_to_avoid |= {size for array in recorded_numbers.values() for size in array.shape}
        sizes_to_avoid |= {value for value in recorded_numbers.config.values() if isinstance(value, int)}
    return Draw(getattr(request, "param", 0), {size for size in sizes_to_avoid if size >= SMALLEST_AVOIDED})


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[DeviceKind]:
    """Return the device to compile for; meanwhile, the tolerance is that of the device's products."""
    from checker.max_adapter.runtime import uses_tf32

    before = tolerance_now.set(TF32_TOLERANCE if uses_tf32(request.param) else TOLERANCE)
    yield request.param
    tolerance_now.reset(before)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--device``, as the check has it."""
    parser.addoption("--device", type=DeviceKind, choices=list(DeviceKind), help="compile for this device alone")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    config.addinivalue_line("markers", "drawn: a claim about a configuration drawn anew, beside the solution")
    config.addinivalue_line("markers", "compiled: a claim about the module that MAX compiled; run last")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a claim that asks for a ``device`` on every device there is."""
    if "device" in metafunc.fixturenames:
        from checker.max_adapter.runtime import devices

        only_device = metafunc.config.getoption("device")
        metafunc.parametrize("device", [only_device] if only_device else devices(), indirect=True)
