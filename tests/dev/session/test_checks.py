"""Unsolved fails, solved passes, spoiled is refused by name: proven for every step."""

import ast
import random
import re
from collections import Counter

import pytest

from checker.course.attempts import edited, load_attempts
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


MOST_IN_FAST = 3  # mistakes of a step that --fast grades, and alternatives
THROUGH_THE_COMMAND = 5


@pytest.fixture
def drawn(request):
    """Draws some of many by lot, the same ones for the same --seed."""
    lot = random.Random(f"{request.config.option.seed} {request.node.name}")
    return lambda names, count: lot.sample(list(names), min(count, len(names)))


every_step = pytest.mark.parametrize("step", all_steps(), ids=lambda step: step.name)


def test_there_are_steps_to_prove():
    assert {*NAMES} <= {step.name for step in all_steps()}


@every_step
def test_a_check_knows_enough_mistakes_and_alternatives(step: Step):
    attempts = load_attempts(step)
    mistakes, alternatives = at_least(step)
    assert len(attempts.mistakes) >= mistakes
    assert len(attempts.alternatives) >= alternatives


@every_step
def test_solved_passes_and_spoiled_is_refused_by_name(step: Step, drawn, pytestconfig):
    """All of them in one process, in an order drawn by lot."""
    told: list[Event] = []
    attempts = load_attempts(step)
    mistakes, alternatives = set(attempts.mistakes), set(attempts.alternatives)
    if pytestconfig.option.fast:
        mistakes, alternatives = (set(drawn(sorted(some), MOST_IN_FAST)) for some in (mistakes, alternatives))
    left_out = {*attempts.mistakes, *attempts.alternatives} - mistakes - alternatives
    surveyed = list(survey(step, told.append, seed=pytestconfig.option.seed, without=left_out))
    assert [f"{subject.name}: {subject.problem}" for subject in surveyed if subject.problem] == []
    kinds = Counter(subject.kind for subject in surveyed)
    assert kinds == {"solution": 1, "mistake": len(mistakes), "alternative": len(alternatives)}
    used = next((event.used for event in told if isinstance(event, KernelsUsed)), [])
    assert left_out or used == kernels.recorded().get(step.name, []), "run ./run kernels"


@pytest.mark.slow
@every_step
def test_a_mistake_is_named_by_the_command_too(step: Step, drawn, course, pytestconfig):
    """Through processes, events and printing, for those drawn by lot."""
    mistakes = load_attempts(step).mistakes
    for sentence in drawn(mistakes, len(mistakes) if pytestconfig.option.nightly else THROUGH_THE_COMMAND):
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
    "It patches.": first("np.allclose = np.isfinite"),
}
ALTERNATIVES = {"with a name": {WELL: WELL.replace("return", "dots =") + "; return dots"}}
"""
SURVEY = """
from checker.course.steps import find_step
from tools.survey import survey
print({one.name: one.problem for one in survey(find_step("w01"), seed=%d, quiet_seconds=1)})
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_a_subject_that_ends_hangs_or_patches_does_not_spoil_the_rest(course, seed):
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
        "It patches.": "it replaces numpy.allclose",
    }


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
