"""Causes outside the blanks are named: a missing name, something given that was changed, state between two calls."""

import pytest

from checker.course.source import Source
from checker.course.steps import Step
from checker.diagnosis.causes import state_that_outlives_a_call
from checker.stages import Mark
from tools.survey import survey

CONCATENATE = "    return np.concatenate([W_query, W_key, W_value], axis=-1)\n"
ENCODED = "        ids = merge(ids, first, merges[first])\n    return ids\n"
BEGIN = "    ids = byte_ids(word)\n    while"
REMEMBERED = {
    BEGIN: f"    if word in seen:\n        return seen[word]\n{BEGIN}",
    ENCODED: ENCODED.replace("return ids", "seen[word] = ids\n    return ids"),
}
WORD_AND_MERGES = "def encode_word(word: str, merges: dict[Pair, int])"

#: A step → a name → its edits, and what must be said once; all else that does not hold must wait.
SAID = {
    "warmup_05": {
        "a library is not imported": (
            {"import numpy as np\n": ""},
            "NameError: name 'np' is not defined. The file does not import it: write `import numpy as np` at the top.",
        ),
        "an earlier step is not imported": (
            {"from solutions.warmup_03 import attention_weights\n": ""},
            "write `from solutions.warmup_03 import attention_weights` at the top.",
        ),
        "a name is undefined where only the claims about another function come": (
            {"    query, key, value = np.split(": "    x if x.shape[-1] > 3 else y\n    query, key, value = np.split("},
            "NameError: name 'y' is not defined.",
        ),
        "a name is misspelled": ({"merged = merge_heads(": "merged = merge_head("}, "Did you mean merge_heads?"),
    },
    "warmup_06": {
        "a class is not imported": (
            {"from collections import Counter\n": ""},
            "write `from collections import Counter` at the top.",
        ),
        "a table is changed": (
            {"range(161, 173)": "range(160, 173)", "range(127, 161)": "range(127, 160)"},
            "Outside the blanks, BYTES is not as the step gives it.",
        ),
        "a helper is changed": (
            {'word.encode("utf-8")': 'word.encode("utf-16")'},
            "Outside the blanks, byte_ids is not as the step gives it.",
        ),
        "words are remembered": (
            {**REMEMBERED, WORD_AND_MERGES: f"seen = {{}}\n\n\n{WORD_AND_MERGES}"},
            "something is kept from one call to the next. seen outlives the call.",
        ),
        "words are remembered in a default": (
            {**REMEMBERED, WORD_AND_MERGES: WORD_AND_MERGES.replace(")", ", seen={})")},
            "The default {} is made once, and all calls share it.",
        ),
    },
}


@pytest.mark.parametrize("step", SAID)
def test_the_cause_is_told_and_what_depends_on_it_waits(step):
    edits = {name: edits for name, (edits, _) in SAID[step].items()}
    for report in survey(Step(step), edits).reports:
        reasons = {report.reasons[claim] for claim, mark in report.marks.items() if mark == Mark.FAIL}
        assert len(reasons) == 1, report.name
        assert SAID[step][report.name][1] in reasons.pop()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "edits", "said"),
    [
        ("step_16", {"-100": "-1"}, "Outside the blanks, IGNORE_INDEX is -1; the step gives -100."),
        ("step_17", {"0.044715": "0.44715"}, "Above the blank, a line is not as the step gives it."),
        (
            "step_17",
            {"return x.reshape([-1, x.shape[-1]])": "return x.reshape([x.shape[-1], -1])"},
            "Outside the blanks, rows_of is not as the step gives it.",
        ),
        ("step_08", {"return x + sublayer(norm(x))": "return x"}, "The result is x, unchanged."),
        (
            "step_08",
            {
                "norm: Callable[[Tensor], Tensor], sublayer: Callable[[Tensor], Tensor]": (
                    "sublayer: Callable[[Tensor], Tensor], norm: Callable[[Tensor], Tensor]"
                )
            },
            "The parameters are (x, sublayer, norm); the step gives them as (x, norm, sublayer)",
        ),
        (
            "step_07",
            {"x.reshape([*x.shape[:-2], self.embed_dim])": "x.reshape([*x.shape[:-2], 2 * self.embed_dim])"},
            "A reshape keeps the number of elements.",
        ),
        (
            "step_07",
            {
                "        x = x.transpose(-3, -2)  # [..., seq, head, head_dim]\n": "        x.transpose(-3, -2)\n",
                "x.reshape([*x.shape[:-2], self.embed_dim])": "x.reshape([*x.shape[:-2], 2 * self.embed_dim])",
            },
            "Perhaps: Merging joins the wrong axes",
        ),
        (
            "step_14",
            {"_cache, key,": "_cache, key.cast(DType.float16).cast(key.dtype),"},
            "rounded to float16 on their way",
        ),
    ],
)
def test_the_cause_is_told_in_max_too(step, edits, said):
    (report,) = survey(Step(step), {"it": edits}).reports
    reasons = [report.reasons[claim] for claim, mark in report.marks.items() if mark == Mark.FAIL]
    assert said in reasons[0]
    assert "right alone" not in " ".join(reasons)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("def f(x, seen=[]): return seen", 1),
        ("seen = {}\ndef f(x):\n    seen[x] = 1", 3),
        ("seen = []\ndef f(x):\n    seen.append(x)", 3),
        ("class A:\n    def f(self, x):\n        self.x = x", 3),
        ("class A:\n    def __init__(self, x):\n        self.x = x", 0),
        ("def f(x):\n    x.length = 3", 0),  # a cache, say
        ("TABLE = {}\ndef f(x):\n    own = {}\n    own[x] = TABLE", 0),
    ],
)
def test_what_outlives_a_call_is_found(source, line):
    assert next(state_that_outlives_a_call(Source(source), "f"), (0, ""))[0] == line
