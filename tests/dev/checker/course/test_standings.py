"""How far a step is: done is exactly the file that has passed."""

import pytest

from checker.course.standings import Standing, StepState, next_to_do
from checker.course.steps import Step, find_step
from checker.diagnosis.mistakes import load_attempts
from tests.dev.helpers.commands import states


@pytest.mark.slow
def test_done_is_exactly_the_file_that_passed(course):
    solution = find_step("w01").read_solution().text
    for source, is_checked, state in (
        (solution, True, "done"),
        (f"{solution}# a note\n", False, "done"),  # it means the same
        (f"{solution}NOTE = 1\n", False, "changed since its pass (not checked)"),
        (solution.replace("return query @ ", "return 2 * query @ "), True, "changed since its pass (last check: fail)"),
        (solution, False, "done"),
    ):
        course.write("w01", source)
        if is_checked:
            course.check("w01")
        assert states(course)["w01"] == state
    claims = course.root / "tests" / "test_warmup_01.py"
    claims.write_text(claims.read_text() + "\n# another claim\n")
    assert states(course)["w01"] == "done, but its check has changed since"
    course.write("s02")
    for arguments, state in ((["--no-compile"], "pass, not compiled"), ([], "done"), (["--no-compile"], "done")):
        course.check("s02", *arguments)
        assert states(course)["s02"] == state
    course.write("s02", edits=load_attempts(find_step("s02")).alternatives["the source tutorial's signature"])
    course.check("s02", "--no-compile")
    claims = course.root / "tests" / "test_step_02.py"
    claims.write_text(claims.read_text() + "\n# another claim\n")
    assert states(course)["s02"] == "done, but its check has changed since (see causal_mask)"


def test_a_file_that_is_removed_at_this_moment_may_be_the_next(monkeypatch, tmp_path):
    step = find_step("w01")
    monkeypatch.setattr(Step, "learner_file", tmp_path / "removed.py")
    assert next_to_do([Standing(step, StepState.IN_PROGRESS, "")]) == step
