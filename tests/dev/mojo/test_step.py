"""The commands on a step in Mojo: a file that crashes, hangs or does not compile, and the companions."""

import re

import pytest

from checker.course.skeletons import expected
from checker.course.steps import Step

pytestmark = pytest.mark.slow

STEP = Step("step_21")
KEYS = "dot(query, keys[k * d : (k + 1) * d])"


def words(run):
    return " ".join(run.stdout.split())


def test_an_index_out_of_bounds_ends_in_a_sentence_and_its_line(course):
    course.write("s21", edits={KEYS: KEYS.replace("(k + 1)", "(k + 2)")})
    run = course.check("s21", "--no-compile")
    assert run.returncode == 1
    assert re.search(r"Mojo stopped \(slice end index \d+ is out of bounds, valid range is 0 to \d+\)", words(run))
    assert f"line {course.line_of('s21', '(k + 2)')}: scores[k] = dot(query, keys[k * d : (k + 2) * d])" in run.stdout
    assert "Assert Error" not in run.stdout


@pytest.mark.slow
def test_a_loop_that_never_ends_does(course, monkeypatch):
    monkeypatch.setenv("COURSE_QUIET_SECONDS", "3")
    loop = "    var i = 0\n    while i < len(scores):\n        new = max(new, scores[i])\n"
    course.write("s21", edits={"    for score in scores:\n        new = max(new, score)\n": loop})
    run = course.check("s21", "--no-compile")
    assert run.returncode == 1
    assert "timed out after 3 s during this claim: The first scores of a row" in words(run)
    assert "Look for a loop that never ends" in words(run)


@pytest.mark.slow
def test_what_is_written_is_tried(course):
    course.fill("s21", "online_softmax", "attend_tile")
    run = course.check("s21", "--no-compile")
    assert run.returncode == 1
    assert "waits     attend_tile       waits until attend_block is written" in run.stdout
    assert "Right so far. Still to write: attend_block, causal_attention." in words(run)


def test_a_function_that_is_gone_is_missed(course):
    course.write("s21", edits={"def attend_block(": "def attend_blocks("})
    run = course.check("s21", "--no-compile")
    assert run.returncode == 1
    assert "there is no attend_block in the file any more" in words(run)


def test_status_reset_and_compare_know_it(course):
    say = lambda *arguments: course.python("-m", "cli", *arguments).stdout  # noqa: E731
    assert re.search(r"s21  untouched +a kernel of your own", say("status"))
    course.fill("s21", "online_softmax")
    assert "s21  in progress (1 of 4 blanks)" in say("status")
    course.write("s21", edits={"new = max(new, score)": "new = max(score, new)  # mine"})
    compared = say("compare", "21", "--anyway")
    assert "3 of 4 blanks are written as in the solution." in compared
    assert "new = max(score, new)  # mine" in compared
    assert re.search(
        r"Your steps/step_21.mojo is kept as steps/step_21.kept-\d{8}-\d{6}.mojo.", say("reset", "21", "--yes")
    )
    assert (course.root / "steps" / "step_21.mojo").read_text() == expected(STEP)
