"""The mistakes and alternatives of a step are read from their own file, and only when something is to be named."""

from checker.course.paths import ROOT
from checker.course.steps import all_steps


def test_every_step_has_its_file_and_there_is_no_other():
    files = {path.name for path in (ROOT / "tests" / "attempts").glob("*.py")}
    assert files == {step.attempts_file.name for step in all_steps()}


def test_a_right_answer_is_graded_without_them(course):
    course.write("w01")
    (course.root / "tests" / "attempts" / "warmup_01.py").write_text("raise RuntimeError('these were read')\n")
    assert course.check("w01").returncode == 0


def test_a_wrong_answer_is_named_by_them(course):
    course.spoil("w01", "exp of a large score is infinite")
    assert "exp of a large score is infinite" in course.check("w01").stdout
    (course.root / "tests" / "attempts" / "warmup_01.py").unlink()
    run = course.check("w01")
    assert run.returncode == 1
    assert "exp of a large score is infinite" not in run.stdout
