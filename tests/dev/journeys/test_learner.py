"""A learner's way through the commands, from an untouched step to a pass, as typed in a terminal."""

import json

import jsonschema
import pytest

from checker.course.steps import CACHED_MODEL, steps_up_to
from tests.dev.helpers.checks import SCHEMA

pytestmark = pytest.mark.slow

SCALE = {" / math.sqrt(self.head_dim)": ""}
MISTAKE = "The scores are not scaled"


def test_a_learner_takes_step_07(course):
    def run(*arguments, status=0):
        done = course.check(*arguments)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def record(*arguments, status=0):
        printed = json.loads(run(*arguments, "--json", status=status))
        jsonschema.validate(printed, SCHEMA)
        return printed

    assert "todo" in run("s07", status=1)
    assert "Hint 1 of 3" in run("hint", "07")
    course.fill("s07", "_split_heads")
    assert "pass" in run("s07", status=1)
    assert "1 of 7 blanks" in run("status")
    course.write("s07", edits=SCALE)
    shown = " ".join(run("s07", status=1).split())
    assert MISTAKE in shown
    verdict = record("s07", status=1)
    (why,) = verdict["explanations"]
    assert (verdict["verdict"], why["about"], why["numbers"]) == ("fail", "_attention_weights", True)
    assert why["sentence"].startswith(MISTAKE)
    assert why["line"] == course.line_of("s07", "def _attention_weights(")
    assert all(f"{row['mark']} {row['about']} {row['sentence']}" in shown for row in verdict["rows"])
    assert f"steps/step_07.py:{why['line']}: error: " in run("step", "step_07", "--problems", status=1)
    assert record("s07", "--show", "_attention_weights", status=1)["shown"]
    run("compare", "07", status=1)
    course.write("s07")
    verdict = record("s07", "--no-compile", "--seed", "1")
    assert (verdict["verdict"], verdict["complete"], verdict["seed"]) == ("pass", False, 1)
    run("compare", "07")
    assert "not compiled" in run("status")
    assert "pass" in run("grade", "--no-compile")
    run("doctor")
    run("reset", "07", "--yes")
    assert list((course.root / "steps").glob("step_07.kept-*.py"))
    assert "NotImplementedError" in course.path("07").read_text()


def test_a_learner_takes_the_model_along(course, tmp_path):
    """Nothing is written while a step is missing, has failed or does not fit, and nothing that was there is lost."""
    file = tmp_path / "gpt2.py"

    def export(*options, status=0):
        return course.check("export", str(file), *options, status=status).stderr

    export("--solution")
    theirs = file.read_text()
    file.write_text("mine")
    missing = export(status=2)
    assert "these steps are not written yet: s01, s02, s03, s04, s05, s06, s07" in missing
    assert "add --fill-in to let the solutions stand in" in missing
    for step in steps_up_to(CACHED_MODEL):
        course.write(step.task)
    course.write("s08", edits={"norm: Callable": "eps: float, norm: Callable"})
    assert "write pre_norm_residual(x, norm, sublayer) in steps/step_08.py" in export(status=2)
    course.write("s08")
    course.write("s12", edits={"logits.argmax(axis=-1)": "logits.argmin(axis=-1)"})
    course.check("s12", "--no-compile", status=1)
    assert "the last check of s12 failed" in export(status=2)
    assert file.read_text() == "mine"
    course.write("s12")
    course.write("s09", edits={"import pre_norm_residual": "import pre_norm_residual as add"})
    assert "pre_norm_residual as add` does not fit into one file; at the top, import" in export(status=2)
    course.write("s09")
    told = export()
    assert "with s01, s02, s03, s04, s05, s06, s07" in told
    assert "unchecked (no check has passed yet)" in told
    assert file.read_text() == theirs
    (copy,) = tmp_path.glob("gpt2.kept-*.py")
    assert copy.read_text() == "mine"
    export()
    assert len([*tmp_path.glob("gpt2*")]) == 2, "the same file is not kept again"
