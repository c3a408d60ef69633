"""Unsolved fails, solved passes, spoiled is refused by name: proven for every step."""

import ast
import re

import pytest

from checker.course.blanks import Blank, find_blanks, unwritten
from checker.course.skeletons import expected
from checker.course.steps import Step, all_steps
from checker.events import Event, KernelsUsed
from checker.max_adapter import kernels
from tools.survey import survey

NAMES = [f"warmup_{number:02}" for number in range(1, 6)] + [f"step_{number:02}" for number in range(1, 16)]


def at_least(step: Step) -> tuple[int, int]:
    """The smallest numbers of mistakes and of alternatives that a check has to know."""
    if step.name == "step_07":
        return 12, 8
    return (10, 3) if step.name >= "step_09" and step.name.startswith("step") else (6, 3)


def blanks_of(step: Step) -> list[Blank]:
    """What a learner writes."""
    return find_blanks(step.solution_file.read_text())


every_step = pytest.mark.parametrize("step", all_steps(), ids=lambda step: step.name)


def test_there_are_steps_to_prove():
    assert {*NAMES} <= {step.name for step in all_steps()}


@every_step
def test_solved_passes_and_spoiled_is_refused_by_name(step: Step):
    told: list[Event] = []
    surveyed = list(survey(step, told.append))
    kinds = [subject.kind for subject in surveyed]
    assert kinds.count("solution") == 1
    mistakes, alternatives = at_least(step)
    assert kinds.count("mistake") >= mistakes
    assert kinds.count("alternative") >= alternatives
    assert [f"{subject.name}: {subject.problem}" for subject in surveyed if subject.problem] == []
    used = next((event.used for event in told if isinstance(event, KernelsUsed)), [])
    assert used == kernels.recorded().get(step.name, []), "run ./run kernels"


@every_step
def test_the_untouched_skeleton_is_refused_at_once(step: Step, course):
    run = course.check(step.task)
    assert run.returncode == 1
    for blank in blanks_of(step):
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


@pytest.mark.parametrize("step", [step for step in all_steps() if len(blanks_of(step)) > 1], ids=lambda step: step.name)
def test_every_blank_alone_is_tried_and_nothing_else_is_a_yes(step: Step, course):
    blanks = blanks_of(step)
    for blank in blanks:
        course.fill(step.task, blank.label)
        missing = unwritten(
            ast.parse((course.root / "steps" / f"{step.name}.py").read_text()), step.solution_file.read_text()
        )
        assert len(missing) == len(blanks) - 1
    run = course.check(step.task)  # the last blank alone
    assert run.returncode == 1
    assert not re.search(r"^  no\b", run.stdout, re.MULTILINE)


@every_step
def test_the_skeleton_is_what_the_generator_makes(step: Step):
    git_has = step.learner_file.read_text()
    assert git_has == expected(step)
