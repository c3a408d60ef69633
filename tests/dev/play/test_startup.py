"""What a command asks before it runs the model: the kernels and the device."""

import pytest

from checker.course.steps import SMALL_MODEL
from checker.files import ROOT
from play.mine.choice import OwnSteps
from play.options import ModelOptions
from play.startup import usable_kernels
from tests.dev.helpers.commands import run_model

pytestmark = pytest.mark.slow


def test_kernels_run_unless_the_steps_are_ones_own_and_where_mojo_fails_that_is_said(monkeypatch):
    from play.kernels import operations

    said, ways = [], [{}, {"own": OwnSteps()}, {"own": OwnSteps(), "kernels": True}, {"kernels": False}]
    decide = lambda way: usable_kernels(ModelOptions(SMALL_MODEL, **way), said.append)  # noqa: E731
    assert [decide(way) for way in [*ways, {"kernels": True, "quantize": "Q8_0"}]] == [True, False, True, False, False]
    monkeypatch.setattr(operations, "FOLDER", ROOT / "tests" / "kernels")  # where no package is
    monkeypatch.setattr(operations, "package", operations.package.__wrapped__)
    assert [decide(way) for way in ways] == [False] * 4
    assert len(said) == 2
    assert all(line.startswith("without the kernels") and "Mojo" in line for line in said)


@pytest.mark.parametrize("command", [("generate", "Call me"), ("attention", "Call me"), ("warm",), ("s07",)])
def test_a_gpu_that_is_not_there_is_said(command, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    said = run_model(*command, "--device", "gpu", status=2).stderr
    assert said == f"{command[0]}: there is no device 'gpu' that MAX can use here; choose from cpu\n"
