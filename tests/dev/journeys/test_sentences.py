"""What a check says of a file that is wrong: each message ends with what to do now."""

import re

import pytest

from checker.course.steps import find_step
from checker.diagnosis.mistakes import load_attempts

#: A step, what is written instead of the solution, the functions that fail, and what the check says of them;
#: {line} is that of the last edit.
MESSAGES = {
    "wrong arguments, after which one failure is enough": (
        "s09",
        {"self.ln_1 = LayerNorm(config.n_embd, eps=": "self.ln_1 = LayerNorm(config.n_embd, "},
        {"__init__"},
        ["forward waits until __init__ works", "The signature is LayerNorm(dim, *, eps=1e-05)."],
    ),
    "a blank that others fail in": (
        "s12",
        {"exps = np.exp(shifted / ": "exps = np.exp(shift / "},
        {"softmax"},
        ["softmax: NameError: name 'shift' is not defined", "generate_tokens waits until softmax"],
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
            "waits train waits until most_frequent works",
            "most_frequent and encode_word are each wrong. Begin with most_frequent:",
        ],
    ),
    "a mistake in a function whose own claims hold": (
        "s07",
        {"= config.n_head\n": "= 12\n", "key, mask) @ value": "key, mask) @ key"},
        {"_attn", "_split_heads"},
        ["_attn: The weights are applied to the keys", "write: self.num_heads = config.n_head"],
    ),
    "a mistake in a file whose functions have the source tutorial's signatures": (
        "s07",
        {
            **load_attempts(find_step("07")).alternatives["the source tutorial's signatures"],
            "weights = F.softmax(scores + ": "weights = (scores + ",
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
        {"keys[matrix * total : (matrix + 1) * total]": "keys[matrix * total : (matrix + 2) * total]"},
        set(),
        ["Mojo stopped (there is no row", "line {line}: var head_keys = keys[matrix * total : (matrix + 2) * total]"],
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
