"""``--mine``: the model runs a learner's steps, and says which of them it cannot run."""

import re

import pytest

from checker.course.steps import SERVER, find_step, steps_up_to
from checker.diagnosis.mistakes import load_attempts
from tests.dev.helpers.commands import run_model

pytestmark = pytest.mark.slow


def test_mine_runs_the_learners_steps_unless_they_are_missing_or_their_last_check_failed(course):
    def mine(*options, **more):
        return run_model(
            "generate", "Call me", "--mine", "--max-new-tokens", "10", "--seed", "1", *options, root=course.root, **more
        )

    course.write("s03")
    missing = mine(status=2).stderr
    assert "not written yet: s01, s02, s04," in missing
    assert "--fill-in" in missing
    assert not {"s14", "s15", "s22"} & {*re.findall(r"s\d\d", missing)}
    assert ", s22. Write them" in mine("--quantize", "q4_0", status=2).stderr
    filled = mine("--fill-in")
    (stand_ins,) = re.findall(r"the solutions stand in for (.*)", filled.stderr)
    assert {"s01", "s02", "s07"} <= {*stand_ins.split(", ")}
    assert "s03" not in stand_ins
    assert "with s03 unchecked (no check has passed yet)" in filled.stderr
    assert "s14 is not written yet, so there is no cache" in filled.stderr
    assert "s14" not in stand_ins
    for step in steps_up_to(SERVER):
        course.write(step.task)
    course.write("s07", edits=load_attempts(find_step("07")).alternatives["the source tutorial's signatures"])
    unlike = mine(status=2).stderr
    assert "write GPT2MultiHeadAttention._split_heads(x), " in unlike
    assert ", GPT2MultiHeadAttention._attn(query, key, value, mask) in steps/step_07.py, or add --fill-in" in unlike
    assert "the solutions stand in for s07" in mine("--fill-in").stderr
    course.write("s07")
    solved = mine()
    reference = run_model("generate", "Call me", "--max-new-tokens", "10", "--seed", "1")
    assert solved.stdout == filled.stdout == reference.stdout
    course.write("s07", edits={"key.T": "key"})
    wrong = mine(status=2).stderr
    assert "generate: steps/step_07.py: ValueError: Matmul: Matrix multiplication input lhs (shape [batch, 4" in wrong
    assert f"line {course.line_of('s07', 'query @ key')}: scores = query @ key" in wrong
    assert "`./run s07` checks this step" in wrong
    course.write("s07", edits={"scores + mask, axis=-1": "scores + mask, axis=-2"})
    assert "your steps do not run together. TypeError: MAX compiles no softmax over" in mine(status=2).stderr
    course.write("s07")
    course.write("s12", edits={"sampling.choose(logits": "sampling.choose(-logits"})  # the model's graph stays as it is
    assert mine().stdout != solved.stdout
    course.check("s12", status=1)
    assert "the last check of s12 failed; `./run s12` says why. Add --anyway" in mine(status=2).stderr
    assert mine("--anyway").stdout != solved.stdout


@pytest.mark.nightly
def test_a_wrong_attention_changes_the_text_but_with_the_kernels_it_does_not_run(course):
    course.write("s07", edits={"key.T / math": "key.T * math"})
    sentence = "The whale struck the ship, and it sank."  # more tokens than the kernel for few rows takes
    options = ("generate", sentence, "--seed", "1", "--max-new-tokens", "10")
    text, mine = run_model(*options).stdout, (*options, "--mine", "--fill-in", "--anyway")
    assert run_model(*mine, root=course.root).stdout != text
    done = run_model(*mine, "--kernels", root=course.root)
    assert "the kernels stand in for the attention of s07 and s14" in done.stderr
    assert done.stdout == text
