"""Habits from PyTorch and Python: the check shows the line to write instead, and that line leads to a pass."""

import random

import pytest

from checker.course.steps import all_steps
from checker.diagnosis.mistakes import load_attempts
from tools.survey import follow

DRAWN = 1  # of a step; all with --nightly


@pytest.mark.slow
@pytest.mark.third
@pytest.mark.parametrize("step", all_steps(), ids=lambda step: step.name)
def test_what_the_check_tells_to_write_leads_to_a_pass(step, pytestconfig):
    option, habits = pytestconfig.option, list(load_attempts(step).habits)
    drawn = habits if option.nightly else random.Random(f"{option.seed} {step.name}").sample(habits, DRAWN)
    problems, compiled = follow(step, drawn)
    assert problems == dict.fromkeys(drawn, "")
    alone = {what for what in compiled if not what.endswith("kernels that the checks use")}
    assert not alone, "who has such a habit waits for the compiler; add the kernels to kernels.json as `habits`"
