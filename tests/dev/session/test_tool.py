"""What a check says of a file that is wrong: each message ends with what to do now."""

import re

import pytest

from checker.course.blanks import find_blanks, skeleton, unwritten
from checker.course.steps import all_steps, find_step
from checker.diagnosis.mistakes import load_attempts

STOP = "        raise NotImplementedError"

#: A step, what is written instead of the solution, the functions that fail, and what the check says of them;
#: {line} is that of the last edit.
MESSAGES = {
    "a syntax error": (
        "s07",
        {"return weights @ value": "return weights @ (value"},
        set(),
        ["Line {line}: '(' was never closed.", "return weights @ (value ^"],
    ),
    "wrong arguments, after which one failure is enough": (
        "s09",
        {"self.ln_1 = LayerNorm(config.n_embd, eps=": "self.ln_1 = LayerNorm(config.n_embd, "},
        {"__init__"},
        ["forward waits until __init__ works", "The signature is LayerNorm(dim, *, eps=1e-05)."],
    ),
    "a blank that others fail in": (
        "s12",
        {"powers = np.exp((logits - ": "powers = np.exp((logit - "},
        {"probabilities"},
        ["probabilities: NameError: name 'logit' is not defined", "generate_tokens waits until probabilities"],
    ),
    "the calls that led to an error": (
        "s12",
        {"for _ in range(max_new_tokens):": "for _ in range(n_positions.real()):"},
        {"generate_tokens"},
        ["TypeError: 'int' object is not callable", "line {line}: for _ in range(n_positions.real()): where n_pos"],
    ),
    "two mistakes, for which others wait only if they call them": (
        "w06",
        {
            "return min(counts, key=lambda pair: (-counts[pair], pair), default=None)": "return max(counts)",
            "first = min(known, key=lambda pair": "first = max(known, key=lambda pair",
        },
        {"most_frequent", "encode_word"},
        [
            "waits learn waits until most_frequent works",
            "most_frequent and encode_word are each wrong. Begin with most_frequent:",
        ],
    ),
    "a mistake in a function whose own claims hold": (
        "s07",
        {"= config.n_head\n": "= 12\n", "return weights @ value": "return weights @ key"},
        {"_attn", "_split_heads"},
        ["_attn: The weights are multiplied with the keys", "write: self.num_heads = config.n_head"],
    ),
    "a mistake in a file whose functions have the source tutorial's signatures": (
        "s07",
        {
            **load_attempts(find_step("07")).alternatives["the source tutorial's signatures"],
            "F.softmax(scores)": "scores",
        },
        {"_attn"},
        ["_attn: There is no softmax", "waits forward waits until _attn works"],
    ),
    "functions that are right alone, and leave a trace that others mind": (
        "w01",
        {
            "import numpy as np\n": "import numpy as np\n\nTRACE = print('once') or []\n",
            "    shifted = ": "    scores = scores + len(TRACE) * np.arange(scores.shape[-1])\n    shifted = ",
            "    weights = softmax": "    TRACE.append(1)\n    weights = softmax",
        },
        {"simple_self_attention"},
        [
            "steps/warmup_01.py | once pass",
            "simple_self_attention: Each function is right alone, but together they are not.",
        ],
    ),
    "a function that is gone, which another calls": (
        "w01",
        {"def attention_scores(": "def another("},
        set(),
        [
            "there is no attention_scores in the file",
            "waits until attention_scores is written",
            "Right so far. Still to write: attention_scores.",
        ],
    ),
    "a mistake nobody foresaw": (
        "s07",
        {"return self.c_proj(attn_output)": "return 1.25 * self.c_proj(attn_output)"},
        {"forward"},
        ["Everything is off by one factor: yours is 1.25 times Hugging Face's."],
    ),
    "a row out of bounds, which MAX tells without the line": (
        "s10",
        {"self.wpe(positions)": "self.wpe(input_ids)"},
        {"forward"},
        [
            "forward: wpe gets the token ids, many of which are beyond its last row; give it the positions.",
            "line {line}: hidden",
        ],
    ),
    "an index out of bounds in Mojo": (
        "s21",
        {"var keys = k[matrix * total : (matrix + 1) * total]": "var keys = k[matrix * total : (matrix + 2) * total]"},
        set(),
        ["Mojo stopped (there is no row", "line {line}: var keys = k[matrix * total : (matrix + 2) * total]"],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("step", "edits", "wrong", "messages"), MESSAGES.values(), ids=MESSAGES)
def test_a_mistake_is_put_into_words(course, step, edits, wrong, messages):
    course.write(step, edits=edits)
    check = course.check(step, "--no-compile", status=1)
    shown = " ".join(check.stdout.split())
    last = list(edits.values())[-1].strip()
    for message in messages:
        line = course.line_of(step, last) if "{line}" in message else 0
        assert message.replace("{line}", str(line)) in shown
    assert {*re.findall(r"^  fail +(\w+)  ", check.stdout, re.MULTILINE)} == wrong


def test_what_still_raises_is_to_write_and_a_blank_is_as_long_as_it_says():
    solution = find_step("s07").solution_file.read_text()

    def to_write(source):
        return [(each.blank.label, each.started) for each in unwritten(source, solution)]

    assert to_write(solution) == []
    half = skeleton(solution, written=["__init__", "_attn", "forward"])
    assert to_write(half) == [("_split_heads", False), ("_merge_heads", False)]
    assert to_write(half.replace(STOP, f"        x = 3\n{STOP}", 1))[0] == ("_split_heads", True)
    assert to_write(half.replace(STOP, f"        return 3\n{STOP}", 1)) == [("_merge_heads", False)]
    outside = "\nif True:\n    # A. (1 line)\n    pass\nclass"
    for old, new, why in (("(2 lines)", "(20 lines)", "says 20 lines"), ("\nclass", outside, "not inside a function")):
        with pytest.raises(ValueError, match=why):
            find_blanks(solution.replace(old, new))


def test_an_unknown_step_lists_those_there_are(course):
    assert {find_step(text).name for text in ("07", "7", "s07", "step_07")} == {"step_07"}
    run = course.check("s99", status=2)
    assert [step.task for step in all_steps() if step.task not in run.stderr] == []


@pytest.mark.slow
def test_blanks_turn_green_one_by_one(course):
    written = []
    for label in ("_split_heads", "_merge_heads", "_attn", "__init__"):
        written.append(label)
        course.fill("s07", *written)
        run = course.check("s07", status=1)
        assert "Right so far. Still to write: " in run.stdout
        assert label in [line.split()[1] for line in run.stdout.splitlines() if line.startswith("  pass")]
    path = course.path("s07")
    path.write_text(path.read_text().replace(STOP, f"        pass\n{STOP}"))
    line = course.line_of("s07", STOP.strip())
    assert f"line {line} still says raise NotImplementedError: delete that line" in course.check("s07").stdout


@pytest.mark.slow
def test_blanks_of_a_kernel_are_tried_and_wait_for_those_that_they_call(course):
    course.fill("s21", "online_softmax", "attend_tile")
    shown = " ".join(course.check("s21", "--no-compile", status=1).stdout.split())
    assert "waits attend_tile waits until attend_block is written" in shown
    assert "Right so far. Still to write: attend_block, causal_attention." in shown


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


def test_skeletons_never_overwrite_work(course):
    steps = course.root / "steps"
    course.fill("s07", "_split_heads")
    (steps / "step_05.py").write_bytes(b"x = '\xe9'")
    (steps / "step_02.py").write_text((steps / "step_02.py").read_text() + "\n# a note of mine\n")
    mine = {name: (steps / name).read_bytes() for name in ("step_05.py", "step_07.py")}
    run = course.check("skeletons", status=0)
    assert {name: (steps / name).read_bytes() for name in mine} == mine
    assert all(f"steps/{name} is left alone" in run.stdout for name in mine)
    (kept,) = steps.glob("step_02.kept-*.py")
    assert "a note of mine" in kept.read_text()
    assert kept.name in run.stdout
    course.check("skeletons", "--check", status=1)


def test_a_file_as_windows_editors_write_it_is_accepted_and_no_attempt_is_read_for_that(course):
    (course.root / "tests" / "attempts" / "warmup_01.py").write_text("raise RuntimeError('these were read')\n")
    path = course.path("w01")
    path.write_bytes(b"\xef\xbb\xbf" + find_step("w01").solution_file.read_bytes().replace(b"\n", b"\r\n"))
    course.check("w01", status=0)
