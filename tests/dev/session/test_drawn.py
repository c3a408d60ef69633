"""The second configuration: right answers are right on it too, and a number fixed in the code is found."""

import pytest

from checker.course.attempts import edited, load_attempts
from checker.course.steps import Step, all_steps
from checker.events import FAIL, PASS
from tools.surveys.survey import subjects_of, survey

pytestmark = pytest.mark.slow

SEEDS = 1000
LARGE = ("step_10", "step_11", "step_14", "step_15")  # whole models
DRAWS = 2


@pytest.mark.nightly
@pytest.mark.parametrize("step", all_steps(), ids=lambda step: step.name)
def test_a_right_answer_is_right_on_any_configuration(step: Step):
    """The survey of ``test_checks.py`` tries one configuration; this tries a thousand."""
    mistakes = load_attempts(step).mistakes
    alternatives = [name for name in subjects_of(step) if name not in mistakes]
    surveyed, *_ = survey(step, {name: subjects_of(step)[name] for name in alternatives}, draws=SEEDS)
    assert sum(claim.endswith("]") for claim in surveyed[0].verdicts) >= SEEDS
    assert {one.name: one.problem([]) for one in surveyed} == dict.fromkeys(alternatives, "")


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(step, marks=[pytest.mark.slow] if step.name in LARGE else [])
        for step in all_steps()
        if load_attempts(step).fixed
    ],
    ids=lambda step: step.name,
)
def test_a_number_fixed_in_the_code_is_found(step: Step, pytestconfig):
    """The recorded numbers are right, others are not; the function that it stands in is named, and its line shown."""
    fixed = load_attempts(step).fixed
    for subject in survey(step, fixed, seed=pytestconfig.option.seed, draws=DRAWS).subjects:
        drawn = {claim: verdict for claim, verdict in subject.verdicts.items() if claim.endswith("]")}
        assert {subject.verdicts[claim] for claim in subject.verdicts.keys() - drawn.keys()} == {PASS}
        assert FAIL in drawn.values(), subject.name
        places = [subject.locations[claim] for claim, verdict in drawn.items() if verdict == FAIL]
        lines = [line for place in places if place for line in place.as_lines()]
        (written,) = fixed[subject.name].values()
        assert not lines or any(written in line or line.partition(": ")[2] in written for line in lines), (
            subject.name,
            lines,
        )


def test_the_command_says_what_was_drawn_and_draws_it_again(course):
    solution = Step("step_03").solution_file.read_text()
    course.write("s03", edited(solution, load_attempts(Step("step_03")).fixed["epsilon is a number in forward"]))
    first, again, other = (course.check("s03", "--no-compile", "--seed", seed).stdout for seed in ("11", "11", "12"))
    assert first == again != other
    words = " ".join(first.split())
    assert "forward: It is right with the recorded numbers, but not with others (dim = " in words
    assert "epsilon=1e-3" in words
    assert "`./run s03 --seed 11` draws these again." in words
    assert course.check("s03", "--no-compile").returncode == 1
    run = course.check("s03", "--solution", "--no-compile")
    assert "drawn" not in run.stdout
