"""Unsolved fails, solved passes, spoiled is refused by name: for every step, with samples drawn by ``--seed``."""

import random
import re

import pytest

from checker.course.blanks import blanks_of
from checker.course.languages import PYTHON
from checker.course.steps import Step, all_steps
from checker.diagnosis.mistakes import load_attempts, read_answers
from checker.max_adapter import kernel_store
from checker.stages import Mark
from tests.dev.helpers.steps import every_step, with_several_blanks
from tools.course_copy import Course
from tools.survey import THE_SOLUTION, follow, subjects_of, survey

MISTAKES, ALTERNATIVES, HABITS = 6, 3, 3  # the fewest that a step's check has to know

HAVE_FIXED = [step for step in all_steps() if load_attempts(step).fixed]


@pytest.fixture(scope="module")
def learner(tmp_path_factory):
    """A copy of the course; every test writes the file that it checks."""
    return Course(tmp_path_factory.mktemp("learner") / "course")


def problems(step, reports):
    """What the check got wrong about each edited solution, or nothing."""
    mistakes = load_attempts(step).mistakes.keys()
    return {report.name: report.problem({report.name} & mistakes) for report in reports}


def not_drawn(kernels):
    """The kernels of every check of a step; MAX compiles an RMS norm for each epsilon, and a check draws one."""
    return {kernel for kernel in kernels if not re.search(r"_eps[0-9a-f]{8}", kernel)}


@every_step
def test_a_check_knows_enough_and_has_recorded_what_mistakes_answer(step: Step):
    attempts, recorded = load_attempts(step), read_answers(step)
    assert len(attempts.mistakes) >= MISTAKES
    assert len(attempts.alternatives) >= ALTERNATIVES
    assert len(attempts.habits) >= HABITS
    assert recorded is not None, "run ./run survey"
    assert recorded.keys() == attempts.mistakes.keys()
    assert step.language is PYTHON or attempts.models.keys() == attempts.mistakes.keys()


@pytest.mark.sampled
@every_step
def test_solved_passes_and_spoiled_is_refused_by_name(step: Step, sample, pytestconfig):
    """All in one process, in an order drawn by lot."""
    attempts = load_attempts(step)
    drawn = {THE_SOLUTION, *sample(list(attempts.mistakes)), *sample(list(attempts.alternatives))}
    subjects = {name: edits for name, edits in subjects_of(step).items() if name in drawn}
    reports, used, _ = survey(step, subjects, seed=pytestconfig.option.seed)
    assert problems(step, reports) == dict.fromkeys(subjects, "")
    recorded = {*kernel_store.recorded_kernels().get(step.name, [])}
    assert {*used} <= recorded, "run ./run survey"
    assert not_drawn(used) == not_drawn(recorded) or drawn < subjects_of(step).keys(), "run ./run survey"


@pytest.mark.spread
@every_step
def test_the_untouched_skeleton_is_refused_at_once(step: Step, learner):
    learner.reset()
    check = learner.check(step.task, status=1)
    for blank in blanks_of(step):
        assert blank.label in check.stdout
        assert blank.instruction in " ".join(check.stdout.split())
    assert "MAX" not in check.stderr


@pytest.mark.slow
@pytest.mark.sampled
@with_several_blanks
def test_a_blank_alone_is_judged_while_the_others_wait(step: Step, learner):
    last = blanks_of(step)[-1]
    learner.fill(step.task, last.label)
    check = learner.check(step.task, status=1)
    assert not [line for line in check.stdout.splitlines() if line.startswith("  fail ")], check.stdout


@pytest.mark.slow
@pytest.mark.parametrize("step", [step for step in all_steps() if step.language is not PYTHON])
def test_a_kernel_itself_is_judged_as_its_model_is(step: Step, pytestconfig):
    """Each is compiled: one mistake and one alternative; by night all."""
    attempts, by_night = load_attempts(step), pytestconfig.option.nightly
    count = len(attempts.mistakes) if by_night else 1
    draw = random.Random(pytestconfig.option.seed).sample
    drawn = [*draw(sorted(attempts.mistakes), count), *draw(sorted(attempts.alternatives), min(count, ALTERNATIVES))]
    subjects = {name: {**attempts.mistakes, **attempts.alternatives}[name] for name in drawn}
    reports, *_ = survey(step, subjects, seed=pytestconfig.option.seed, compiled_kernels=True)
    assert problems(step, reports) == dict.fromkeys(subjects, "")


@pytest.mark.slow
@pytest.mark.sampled
@every_step
def test_what_a_check_tells_to_write_for_a_habit_leads_to_a_pass(step: Step, pytestconfig):
    option, habits = pytestconfig.option, list(load_attempts(step).habits)
    drawn = habits if option.nightly else random.Random(f"{option.seed} {step.name}").sample(habits, 1)
    wrong, kernels = follow(step, drawn)
    assert wrong == dict.fromkeys(drawn, "")
    alone = {kernel for kernel in kernels if not kernel.endswith("kernels that the checks use")}
    assert not alone, "who has such a habit waits for the compiler; add the kernels to kernels.json as `habits`"


@pytest.mark.slow
def test_what_max_cannot_compute_is_told_its_line_and_is_not_asked_for_again_which_ends_the_process(learner):
    edits = {"indices.reshape([-1, 1])": "indices.reshape([-1])"}
    learner.write("s17", edits=edits)
    told = learner.check("s17", "--no-compile", status=1).stdout
    assert "write: return F.scatter_nd_add(table, rows_of(grad), indices.reshape([-1, 1]))" in told
    assert "The check was cut short" not in told


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("step", HAVE_FIXED, ids=lambda step: step.name)
def test_a_number_fixed_in_the_code_is_found_by_a_second_configuration(step: Step, pytestconfig):
    """The recorded numbers are right, those of any check's second configuration are not."""
    draws = 20
    for report in survey(step, load_attempts(step).fixed, seed=pytestconfig.option.seed, draws=draws).reports:
        drawn = {claim: mark for claim, mark in report.marks.items() if claim.endswith("]")}
        assert {report.marks[claim] for claim in report.marks.keys() - drawn.keys()} == {Mark.PASS}
        refused_by = {claim.rpartition("[")[2] for claim, mark in drawn.items() if mark == Mark.FAIL}
        assert len(refused_by) == draws, f"{report.name}: refused by {len(refused_by)} of {draws}"


@pytest.mark.slow
def test_the_command_says_what_was_drawn_and_draws_it_again(learner):
    learner.write("s03", edits=load_attempts(Step("step_03")).fixed["the width is a number in forward"])
    first, again, other = (learner.check("s03", "--no-compile", "--seed", seed).stdout for seed in ("11", "11", "12"))
    assert first == again != other
    words = " ".join(first.split())
    assert "forward: It is right with the recorded numbers, but not with others (dim = " in words
    assert "`./run s03 --seed 11` draws these again." in words
    learner.check("s03", "--no-compile", status=1)
