"""A learner's way through the commands, from an untouched step to a pass, as typed in a terminal."""

import json

from checker.course.paths import ROOT
from checker.course.steps import find_step

SCALE = {" / math.sqrt(int(value.shape[-1]))": ""}
MISTAKE = "The scores are not scaled"


def test_a_learner_takes_step_07(course):
    chapter = course.root / "book" / "src" / "step_07.md"
    chapter.parent.mkdir(parents=True)
    chapter.write_text((ROOT / "book" / "src" / "step_07.md").read_text())

    def run(*arguments, status=0):
        done = course.check(*arguments)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    assert "todo" in run("s07", status=1)
    assert "Hint 1 of 3" in run("hint", "07")
    course.fill("s07", "_split_heads")
    assert "pass" in run("s07", status=1)
    assert "1 of 5 blanks" in run("status")
    course.write("s07", edits=SCALE)
    assert MISTAKE in run("s07", status=1)
    assert "steps/step_07.py:" in run("step", "step_07", "--problems", status=1)
    assert MISTAKE in json.dumps(json.loads(run("s07", "--json", status=1)))
    assert "steps/step_07.py" in run("s07", "--show", "_attn", status=1)
    run("compare", "07", status=1)
    course.write("s07")
    assert "pass" in run("s07", "--no-compile", "--seed", "1")
    run("compare", "07")
    assert "not compiled" in run("status")
    assert "pass" in run("grade", "--no-compile")
    run("doctor")
    run("reset", "07", "--yes")
    assert list((course.root / "steps").glob("step_07.kept-*.py"))
    assert "NotImplementedError" in (course.root / "steps" / find_step("s07").learner_file.name).read_text()
