"""A file whose blanks are written one after another: each is judged, or waits."""

import pytest

pytestmark = pytest.mark.slow

STOP = "        raise NotImplementedError"


@pytest.mark.slow
def test_blanks_turn_green_one_by_one(course):
    written = []
    for label in ("_split_heads", "_merge_heads", "_attention_weights", "_attn", "__init__", "_qkv"):
        written.append(label)
        course.fill("s07", *written)
        run = course.check("s07", status=1)
        assert "Right so far. Still to write: " in run.stdout
        assert label in [line.split()[1] for line in run.stdout.splitlines() if line.startswith("  pass")]
    path = course.path("s07")
    path.write_text(path.read_text().replace(STOP, f"        heads = self.n_head\n{STOP}"))
    line = course.line_of("s07", STOP.strip())
    assert f"line {line} still says raise NotImplementedError: delete that line" in course.check("s07").stdout


@pytest.mark.slow
def test_blanks_of_a_kernel_are_tried_and_wait_for_those_that_they_call(course):
    course.fill("s21", "online_softmax", "attend_tile")
    shown = " ".join(course.check("s21", "--no-compile", status=1).stdout.split())
    assert "waits attend_tile waits until attend_block is written" in shown
    assert "Right so far. Still to write: attend_block." in shown
