"""Unsolved fails, solved passes, spoiled is refused by name: proven for every step."""

import ast
import random
import re

import pytest

from checker.course.attempts import edited, load_attempts
from checker.course.blanks import blanks_of, unwritten
from checker.course.languages import PYTHON
from checker.course.skeletons import expected
from checker.course.steps import Step, all_steps
from checker.diagnosis.answers import read_answers
from checker.events import Event, KernelsUsed
from checker.max_adapter import kernels
from tools.surveys.survey import THE_SOLUTION, subjects_of, survey

NAMES = [f"warmup_{number:02}" for number in range(1, 9)] + [f"step_{number:02}" for number in range(1, 23)]


TRAINING = ("warmup_08", *(f"step_{number}" for number in range(16, 21)))


def at_least(step: Step) -> tuple[int, int]:
    """The smallest numbers of mistakes and of alternatives that a check has to know."""
    if step.name == "step_07":
        return 12, 8
    if step.name in TRAINING:
        return 12, 3
    return (10, 3) if step.name >= "step_09" and step.name.startswith("step") else (6, 3)


THROUGH_THE_COMMAND, LATER_THROUGH_THE_COMMAND = 5, 2  # mistakes of a step
KERNELS = 1  # mistakes of a kernel that are compiled, and alternatives; ./run nightly compiles all
ENOUGH_IN_FAST = ("warmup_05", "step_07", "step_12")  # of the steps with several blanks


@pytest.fixture
def drawn(request):
    """Draws some of many by lot, the same ones for the same --seed."""
    lot = random.Random(f"{request.config.option.seed} {request.node.name}")
    return lambda names, count: lot.sample(list(names), min(count, len(names)))


def is_later(step: Step) -> bool:
    """Whether a step came after the first twenty, so that its tests have 15 seconds at most."""
    return step.name > ("step_15" if step.name.startswith("step") else "warmup_05")


every_step = pytest.mark.parametrize("step", all_steps(), ids=lambda step: step.name)
kernels_alone = pytest.mark.parametrize(
    "step", [step for step in all_steps() if step.language is not PYTHON], ids=lambda step: step.name
)
several_blanks = pytest.mark.parametrize(
    "step",
    [
        pytest.param(step, marks=[] if step.name in ENOUGH_IN_FAST else pytest.mark.slow)
        for step in all_steps()
        if len(blanks_of(step)) > 1 and step.language is PYTHON  # of a kernel, the first wrong function alone is judged
    ],
    ids=lambda step: step.name,
)


def test_there_are_steps_to_prove():
    assert {*NAMES} <= {step.name for step in all_steps()}


@every_step
def test_a_check_knows_enough_mistakes_and_alternatives(step: Step):
    attempts = load_attempts(step)
    mistakes, alternatives = at_least(step)
    assert len(attempts.mistakes) >= mistakes
    assert len(attempts.alternatives) >= alternatives


@every_step
def test_solved_passes_and_spoiled_is_refused_by_name(step: Step, sample, pytestconfig):
    """Those drawn by lot in one process, in an order drawn by lot."""
    told: list[Event] = []
    attempts, subjects = load_attempts(step), subjects_of(step)
    option = pytestconfig.option
    few = {THE_SOLUTION, *sample(attempts.mistakes), *sample(attempts.alternatives)}
    subjects = {name: edits for name, edits in subjects.items() if name in few}
    surveyed = list(survey(step, subjects, told.append, seed=option.seed))
    problems = {subject.name: subject.problem({subject.name} & attempts.mistakes.keys()) for subject in surveyed}
    assert problems == dict.fromkeys(subjects, "")
    used = next((event.used for event in told if isinstance(event, KernelsUsed)), [])
    recorded = kernels.recorded().get(step.name, [])
    assert {*used} <= {*recorded} if few < {*subjects_of(step)} else used == recorded, "run ./run kernels"


@pytest.mark.slow
@kernels_alone
def test_a_kernel_itself_is_graded_as_its_model_is(step: Step, drawn, pytestconfig):
    """Each is compiled: right answers are accepted, and spoiled ones get the name that their models got."""
    attempts, option = load_attempts(step), pytestconfig.option
    most = len(attempts.mistakes) if option.nightly else KERNELS
    few = {name: edits for name, edits in attempts.alternatives.items() if name in drawn(attempts.alternatives, most)}
    few |= {name: attempts.mistakes[name] for name in drawn(attempts.mistakes, most)}
    surveyed = survey(step, few, seed=option.seed, compiled_kernels=True)
    assert {one.name: one.problem({one.name} & attempts.mistakes.keys()) for one in surveyed} == dict.fromkeys(few, "")


@kernels_alone
def test_every_mistake_of_a_kernel_has_a_model(step: Step):
    attempts = load_attempts(step)
    assert list(attempts.models) == list(attempts.mistakes)


@every_step
def test_what_every_mistake_answers_is_recorded(step: Step):
    recorded = read_answers(step)
    assert recorded is not None, "run ./run kernels"
    assert recorded.keys() == load_attempts(step).mistakes.keys()


@pytest.mark.slow
@every_step
def test_a_mistake_is_named_by_the_command_too(step: Step, drawn, course, pytestconfig):
    """Through processes, events and printing, for those drawn by lot."""
    mistakes = load_attempts(step).mistakes
    few = LATER_THROUGH_THE_COMMAND if is_later(step) else THROUGH_THE_COMMAND
    for sentence in drawn(mistakes, len(mistakes) if pytestconfig.option.nightly else few):
        course.write(step.task, edited(step.solution_file.read_text(), mistakes[sentence]))
        run = course.check(step.task, "--no-compile")
        assert run.returncode == 1
        assert sentence in " ".join(run.stdout.split()), run.stdout


DISTURBING = """
WELL = "return query @ np.swapaxes(key, -2, -1)"

def first(line):
    return {WELL: f"{line}; {WELL}"}

MISTAKES = {
    "The keys are compared with themselves.": {WELL: WELL.replace("query @", "key @")},
    "It ends.": first("import os; os._exit(0)"),
    "It never ends.": {WELL: "while True: pass"},
    "It cannot be loaded.": {"import numpy as np": "import nunpy as np"},
    "It ends where it is loaded.": {"import numpy as np": "import numpy as np, os; os._exit(0)"},
}
ALTERNATIVES = {"with a name": {WELL: WELL.replace("return", "dots =") + "; return dots"}}
HABITS = {}
"""
SURVEY = """
from checker.course.attempts import load_attempts
from checker.course.steps import find_step
from tools.surveys.survey import subjects_of, survey
step = find_step("w01")
mistakes = load_attempts(step).mistakes
surveyed = survey(step, subjects_of(step), seed=%d, quiet_seconds=1)
print({one.name: one.problem({one.name} & mistakes.keys()) for one in surveyed})
"""


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_subject_that_ends_or_hangs_does_not_spoil_the_rest(course, seed):
    (course.root / "tests" / "attempts" / "warmup_01.py").write_text(DISTURBING)
    run = course.python("-c", SURVEY % seed)
    assert ast.literal_eval(run.stdout) == {
        "the solution": "",
        "with a name": "",
        "The keys are compared with themselves.": "",
        "It ends.": "it ended the survey: Died()",
        "It never ends.": "it ended the survey: Late(seconds=1, where='')",
        "It cannot be loaded.": "it cannot be loaded: ModuleNotFoundError: No module named 'nunpy'",
        "It ends where it is loaded.": "it ended the survey: Died()",
    }


@pytest.mark.slow
@every_step
def test_the_untouched_skeleton_is_refused_at_once(step: Step, course):
    run = course.check(step.task)
    assert run.returncode == 1
    for blank in blanks_of(step):
        assert blank.label in run.stdout
        assert blank.words in " ".join(run.stdout.split())
    assert "MAX" not in run.stderr


def test_the_untouched_skeletons_import(course):
    run = course.python(
        "-c", f"import {', '.join(f'steps.{step.name}' for step in all_steps() if step.language is PYTHON)}"
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.slow
@every_step
def test_the_solution_is_accepted_as_a_learners_file(step: Step, course):
    course.write(step.task)
    run = course.check(step.task, "--no-compile")
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"steps/{step.learner_file.name}" in run.stdout.splitlines()[0]
    assert f"Compare with solutions/{step.solution_file.name}" in run.stdout


@pytest.mark.slow
@several_blanks
def test_every_blank_alone_is_tried_and_nothing_else_is_a_yes(step: Step, course):
    blanks = blanks_of(step)
    for blank in blanks:
        course.fill(step.task, blank.label)
        written = (course.root / "steps" / step.learner_file.name).read_text()
        missing = unwritten(written, step.solution_file.read_text())
        assert len(missing) == len(blanks) - 1
    run = course.check(step.task)  # the last blank alone
    assert run.returncode == 1
    assert not re.search(r"^  no\b", run.stdout, re.MULTILINE)


@every_step
def test_the_skeleton_is_what_the_generator_makes(step: Step):
    git_has = step.learner_file.read_text()
    assert git_has == expected(step)
