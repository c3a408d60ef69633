"""The second configuration: right answers are right on it too, and with a number fixed in the code none is."""

import pytest

from checker.course.steps import Step, all_steps
from checker.diagnosis.mistakes import edited, load_attempts
from checker.events import FAIL, PASS
from tools.survey import survey

pytestmark = pytest.mark.slow

DRAWS = 2


@pytest.mark.third
@pytest.mark.parametrize(
    "step", [step for step in all_steps() if load_attempts(step).fixed], ids=lambda step: step.name
)
def test_a_number_fixed_in_the_code_is_found(step: Step, pytestconfig):
    """The recorded numbers are right, others are not."""
    fixed = load_attempts(step).fixed
    for subject in survey(step, fixed, seed=pytestconfig.option.seed, draws=DRAWS).subjects:
        drawn = {claim: verdict for claim, verdict in subject.verdicts.items() if claim.endswith("]")}
        assert {subject.verdicts[claim] for claim in subject.verdicts.keys() - drawn.keys()} == {PASS}
        assert FAIL in drawn.values(), subject.name


def test_the_command_says_what_was_drawn_and_draws_it_again(course):
    solution = Step("step_03").solution_file.read_text()
    course.write("s03", edited(solution, load_attempts(Step("step_03")).fixed["epsilon is a number in forward"]))
    first, again, other = (course.check("s03", "--no-compile", "--seed", seed).stdout for seed in ("11", "11", "12"))
    assert first == again != other
    words = " ".join(first.split())
    assert "forward: It is right with the recorded numbers, but not with others (dim = " in words
    assert "`./run s03 --seed 11` draws these again." in words
    course.check("s03", "--no-compile", status=1)
