"""What is kept of a step: whether the file that passed is the file that is there, and how many hints were seen."""

import json
import shutil

import pytest

from checker.course import progress, progress_file
from checker.course.progress_file import read_progress
from checker.course.skeletons import expected
from checker.course.steps import Step, find_step
from checker.diagnosis.mistakes import load_attempts
from tests.dev.helpers.commands import run, states


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


@pytest.mark.slow
def test_progress_that_is_damaged_or_cannot_be_kept(course):
    file = course.root / ".course" / "progress.json"
    file.parent.mkdir()
    file.write_text('{"hints": 3, "pass": {}}')
    assert run(course, "hint", "w01").startswith("Hint 1")
    assert json.loads(file.read_text())["hints"] == {"warmup_01": 1}
    shutil.rmtree(file.parent)
    file.parent.write_text("in the way")
    assert "(The next call shows this one again: .course/progress.json" in run(course, "hint", "w01")


W01 = find_step("w01")
RIGHT = W01.read_solution().text

#: What becomes of the file while it is checked, and while it is compiled then -> whether its pass is kept as compiled.
MEANWHILE = {
    "nothing": (RIGHT, RIGHT, True),
    "a note is added": (f"{RIGHT}# a note\n", RIGHT, True),
    "it is edited while it is compiled": (RIGHT, f"{RIGHT}NOTE = 1\n", True),
    "it is reset": (expected(W01), expected(W01), None),
    "it is reset while it is compiled": (RIGHT, expected(W01), None),
    "it is reset and begun": (RIGHT, "attention = None\n", None),
    "it is reset, which is undone": (RIGHT, RIGHT, True),
}


@pytest.mark.parametrize("name", MEANWHILE)
def test_a_reset_forgets_the_pass_of_a_check_that_goes_on(monkeypatch, tmp_path, name):
    while_checked, while_compiled, is_compiled = MEANWHILE[name]
    file = tmp_path / "warmup_01.py"
    monkeypatch.setattr(progress_file, "FILE", tmp_path / ".course" / "progress.json")
    monkeypatch.setattr(Step, "learner_file", file)
    for text, compiled in ((while_checked, False), (while_compiled, True)):
        file.write_text(text)
        if "reset" in name:
            progress.forget(W01)
        is_kept = progress.note_pass(W01, RIGHT, compiled=compiled)
    last = read_progress().passes.get(W01.name)
    assert (last and last.compiled) is is_compiled
    assert is_kept is (is_compiled is not None)


#: What came of checking a file again that has passed -> whether it counts as passed and as failed then.
AGAIN = {
    "a claim fails": (RIGHT, True, (False, True)),
    "it crashes": (RIGHT, False, (True, False)),
    "another text crashes": ("attention = None\n", False, (True, True)),
}


@pytest.mark.parametrize(("source", "takes_back", "counts"), AGAIN.values(), ids=AGAIN)
def test_a_crash_takes_back_no_pass_of_the_same_code(monkeypatch, tmp_path, source, takes_back, counts):
    monkeypatch.setattr(progress_file, "FILE", tmp_path / ".course" / "progress.json")
    monkeypatch.setattr(Step, "learner_file", tmp_path / "warmup_01.py")
    W01.learner_file.write_text(RIGHT)
    progress.note_pass(W01, RIGHT, compiled=True)
    progress.note_failure(W01, source, takes_back=takes_back)
    assert (W01.name in read_progress().passes, W01.name in read_progress().failures) == counts


def test_a_file_that_is_removed_at_this_moment_may_be_the_next(monkeypatch, tmp_path):
    monkeypatch.setattr(Step, "learner_file", tmp_path / "removed.py")
    assert progress.next_to_do([progress.Standing(W01, progress.StepState.IN_PROGRESS, "")]) == W01
