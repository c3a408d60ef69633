"""What is kept of a step: whether the file that passed is the file that is there, and how many hints were seen."""

import json
import shutil

import pytest

from checker.course.steps import find_step
from checker.diagnosis.mistakes import load_attempts
from tests.dev.commands import run, states

pytestmark = pytest.mark.slow


def test_done_is_exactly_the_file_that_passed(course):
    solution = find_step("w01").solution_file.read_text()
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


def test_progress_that_is_damaged_or_cannot_be_kept(course):
    file = course.root / ".course" / "progress.json"
    file.parent.mkdir()
    file.write_text('{"hints": 3, "yes": {}}')
    assert run(course, "hint", "w01").startswith("Hint 1")
    assert json.loads(file.read_text())["hints"] == {"warmup_01": 1}
    shutil.rmtree(file.parent)
    file.parent.write_text("in the way")
    assert "(The next call shows this one again: .course/progress.json" in run(course, "hint", "w01")
