"""``--show``: numbers beside the right ones."""

import pytest


@pytest.mark.slow
def test_the_numbers_are_shown_side_by_side(course):
    scores = "query @ np.swapaxes(key, -2, -1)"
    course.write("w01", edits={scores: f"1.1 * ({scores})"})
    assert "`./run w01 --show attention_scores` shows the numbers side by side." in course.check("w01").stdout
    run = course.check("w01", "--show", "attention_scores", status=1)
    assert run.stdout.count("> marks the largest difference") == 1
    assert {">1.6445", ">1.4950"} <= {*run.stdout.split()}
    assert "--show" not in run.stdout
    assert "softmax has no wrong numbers to show." in course.check("w01", "--show", "softmax").stdout
    run = course.check("w01", "--show", "weights", status=2)
    assert "there is no function weights to show; choose from attention_scores, softmax," in run.stdout + run.stderr
    course.write("s07", edits={"scores = scores / math.sqrt(self.head_dim)": "scores = scores * 0.3"})
    lines = course.check("s07", "--show", "_attn").stdout.splitlines()
    assert {f"{name} [2, 3, 7, 5], at [1, 1]" for name in ("query", "key", "value")} <= {*lines}
