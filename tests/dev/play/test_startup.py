"""What a command asks before it runs the model: the kernels and the device."""

import pytest

from checker.files import ROOT
from play.startup import usable_kernels
from tests.dev.helpers.commands import run_model

pytestmark = pytest.mark.slow


def test_kernels_run_unless_the_steps_are_ones_own_and_where_mojo_fails_that_is_said(monkeypatch):
    from play.kernels import operations

    said, ways = [], [(None, False, True), (None, True, True), (True, True, True), (False, False, True)]
    decide = lambda way: usable_kernels(way[0], said.append, mine=way[1], has_kernels=way[2])  # noqa: E731
    assert [decide(way) for way in [*ways, (True, False, False)]] == [True, False, True, False, False]
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
