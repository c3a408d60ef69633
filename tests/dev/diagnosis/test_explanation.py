"""Every no gets a reason of its own, whatever is wrong beside it."""

import re

import pytest

from checker.course.steps import find_step

pytestmark = pytest.mark.slow


def rows(printed: str) -> set[tuple[str, ...]]:
    """The verdicts by function, as they were printed."""
    return {tuple(line.split()[:2]) for line in printed.splitlines() if re.match(r"  (pass|fail|waits) ", line)}


def words(run) -> str:
    """What was printed, in one line."""
    return " ".join(run.stdout.split())


def test_what_follows_waits_for_what_it_calls_and_not_for_all_that_is_wrong(course):
    nearest = {"return min(counts, key=lambda pair: (-counts[pair], pair), default=None)": "return max(counts)"}
    last_first = {"first = min(known, key=lambda pair": "first = max(known, key=lambda pair"}
    course.write("w06", edits=nearest | last_first)
    run = course.check("w06")
    assert {("fail", "most_frequent"), ("fail", "encode_word")} <= rows(run.stdout)
    waiting = re.findall(r"^  waits +(\w+) +(.+)$", run.stdout, re.MULTILINE)
    assert {*waiting} == {("learn", "waits until most_frequent works"), ("encode", "waits until encode_word works")}


def test_a_mistake_in_a_function_whose_own_claims_hold_is_found_there(course):
    course.write(
        "s07",
        edits={
            "self.num_heads = config.n_head": "self.num_heads = 12",
            "return weights @ value": "return weights @ key",
        },
    )
    run = course.check("s07", "--no-compile")
    assert "_attn: The weights are multiplied with the keys" in words(run)
    assert "__init__: 12 heads are written into the code" in words(run)


def test_functions_that_are_right_alone_and_not_together(course):
    """One leaves a trace that another stumbles over; the solution's functions neither leave it nor mind it."""
    course.write(
        "w01",
        edits={
            "import numpy as np\n": "import numpy as np\n\nTRACE = print('once') or []\n",
            "    largest = ": "    scores = scores + len(TRACE) * np.arange(scores.shape[-1])\n    largest = ",
            "    weights = softmax": "    TRACE.append(1)\n    weights = softmax",
        },
    )
    run = course.check("w01")
    assert run.returncode == 1
    assert "simple_self_attention: Each function is right alone, but together they are not." in words(run)
    assert run.stdout.count("| once") == 1  # though it was run again for the explanation


def test_what_calls_a_function_that_is_gone_waits_for_it(course):
    source = find_step("w01").solution_file.read_text()
    begin, end = source.index("def attention_scores"), source.index("def softmax")
    course.write("w01", source[:begin] + source[end:])
    run = course.check("w01")
    assert run.returncode == 1
    assert run.stdout.count("there is no attention_scores in the file") == 1
    assert "waits until attention_scores is written" in words(run)
    assert "NameError" not in run.stdout
    assert "fail" not in {kind for kind, _ in rows(run.stdout)}
    assert "Right so far. Still to write: attention_scores." in words(run)
