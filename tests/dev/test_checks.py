"""Unsolved fails, solved passes, spoiled is refused by name: proven for every step."""

import ast

import pytest

from checker.blanks import find_blanks, unwritten
from checker.paths import Step, all_steps
from checker.skeletons import expected
from checker.survey import survey
from checker.verdict import Printer

MISTAKES_AT_LEAST = {"step_01": 6, "step_02": 6, "step_07": 12}
ALTERNATIVES_AT_LEAST = {"step_01": 3, "step_02": 3, "step_07": 8}

every_step = pytest.mark.parametrize("step", all_steps(), ids=lambda step: step.name)


def test_there_are_steps_to_prove():
    assert {step.name for step in all_steps()} == set(MISTAKES_AT_LEAST) == set(ALTERNATIVES_AT_LEAST)


@every_step
def test_solved_passes_and_spoiled_is_refused_by_name(step: Step):
    surveyed = list(survey(step, Printer()))
    kinds = [subject.kind for subject in surveyed]
    assert kinds.count("solution") == 1
    assert kinds.count("alternative") >= ALTERNATIVES_AT_LEAST[step.name]
    assert kinds.count("mistake") >= MISTAKES_AT_LEAST[step.name]
    assert [f"{subject.name}: {subject.problem}" for subject in surveyed if subject.problem] == []


@every_step
def test_the_untouched_skeleton_is_refused_at_once(step: Step, course):
    run = course.check(step.task)
    assert run.returncode == 1
    for blank in find_blanks(step.solution_file.read_text()):
        assert blank.label in run.stdout
        assert blank.words in " ".join(run.stdout.split())
    assert "MAX" not in run.stderr


@every_step
def test_the_untouched_skeleton_imports(step: Step, course):
    run = course.python("-c", f"import steps.{step.name}")
    assert run.returncode == 0, run.stderr


@every_step
def test_the_solution_is_accepted_as_a_learners_file(step: Step, course):
    course.write(step.task)
    run = course.check(step.task, "--no-compile")
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"steps/{step.name}.py" in run.stdout.splitlines()[0]
    assert f"Compare with solutions/{step.solution_file.name}" in run.stdout


@every_step
def test_every_blank_alone_is_tried_and_nothing_else_is_a_yes(step: Step, course):
    blanks = find_blanks(step.solution_file.read_text())
    if len(blanks) == 1:
        pytest.skip("the step has one blank")
    for blank in blanks:
        course.fill(step.task, blank.label)
        missing = unwritten(
            ast.parse((course.root / "steps" / f"{step.name}.py").read_text()), step.solution_file.read_text()
        )
        assert len(missing) == len(blanks) - 1
    run = course.check(step.task)  # the last blank alone
    assert run.returncode == 1
    assert " no " not in run.stdout


@every_step
def test_the_skeleton_is_what_the_generator_makes(step: Step):
    git_has = step.learner_file.read_text()
    assert git_has == expected(step)
