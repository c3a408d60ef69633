"""The commands on a step in Mojo: a file that crashes, hangs or does not compile, and the companions."""

import re

import pytest

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


def test_what_is_written_is_tried(course):
    course.fill("s21", "online_softmax", "attend_tile")
    run = course.check("s21", "--no-compile")
    assert run.returncode == 1
    assert "waits     attend_tile       waits until attend_block is written" in run.stdout
    assert "Right so far. Still to write: attend_block, causal_attention." in words(run)
