"""A check judges what a file has once it has run, not how that is written, and says what it lacks."""

import pytest

SCORES = "def attention_scores("
IMPORT = "import numpy as np\n"
SCALED = "return attention_scores(query, key) / math.sqrt(key.shape[-1])"
RESIDUAL = "return x + sublayer(norm(x))"


TENSOR = "from max.experimental.tensor import Tensor\n"
RESIDUAL_BY_A_CLASS = """from max.experimental.nn import Module
from max.experimental.tensor import Tensor


class Residual(Module):
    def forwards(self, x, norm, sublayer):
        return x + sublayer(norm(x))


"""
SCORES_BY_A_CLASS = """class Scores:
    def __call__(self, query, key):
        return _scores(query, key)


attention_scores = Scores()"""


def by(statement):
    """Warm-up 01 with its first function under another name, and a statement that makes attention_scores of it."""
    return {
        IMPORT: f"from functools import partial\n\n{IMPORT}",
        SCORES: "def _scores(",
        "def softmax(": f"{statement}\n\n\ndef softmax(",
    }


#: A step and how its solution is written instead.
RIGHT = {
    "an alias": ("w01", by("attention_scores = _scores")),
    "a lambda": ("w01", by("attention_scores = lambda query, key: _scores(query, key)")),
    "a partial": ("w01", by("attention_scores = partial(_scores)")),
    "an object that is called": ("w01", by(SCORES_BY_A_CLASS)),
    "a decorator": (
        "w01",
        {SCORES: f"def same(function):\n    return lambda *arrays: function(*arrays)\n\n\n@same\n{SCORES}"},
    ),
    "a guard behind branches that return": (
        "w02",
        {SCALED: f"if key.ndim:\n        {SCALED}\n    raise NotImplementedError"},
    ),
    "an inherited method, and one that is set": (
        "s07",
        {
            "class GPT2MultiHeadAttention(Module[[Tensor], Tensor]):": "class Projected(Module[[Tensor], Tensor]):",
            "    def _split_heads(": "\nclass GPT2MultiHeadAttention(Projected):\n    def _split_heads(",
            "    def _merge_heads(": "    def merged(",
            "    def _attn(": "    _merge_heads = merged\n\n    def _attn(",
        },
    ),
}

#: A step, how its solution is written instead, and what the check says.
LACKING = {
    "another name": ("w01", {SCORES: "def attention_score("}, ["it has attention_score: call it attention_scores"]),
    "no such name": ("w01", {SCORES: "def f("}, ["there is no attention_scores in the file any more; write it"]),
    "a forward with a slip": (
        "s03",
        {"    def forward(": "    def forwards("},
        [
            "there is no LayerNorm.forward in the file any more; it has forwards: call it forward",
            "Still to write: forward.",
        ],
    ),
    "__call__ for forward": ("s03", {"    def forward(": "    def __call__("}, ["it has __call__: call it forward"]),
    "another name for a class": (
        "s07",
        {"class GPT2MultiHeadAttention(": "class GPT2MultiheadAttention("},
        [
            "there is no GPT2MultiHeadAttention in the file any more; it has GPT2MultiheadAttention: call it",
            "waits _qkv waits until GPT2MultiHeadAttention is written",
            "Nothing could be tried yet.",
        ],
    ),
    "a class that is one of two": (
        "s20",
        {"class AdamW:": "class Optimizer:", "(math.pi * progress)) / 2": "(math.pi * progress)) / 3"},
        ["there is no AdamW in the file any more; write it", "learning_rate: "],
    ),
    "a coroutine for forward": (
        "s03",
        {"    def forward(": "    async def forward("},
        ["returns a coroutine, and must return a Tensor. Remove `async` in front of `def`."],
    ),
    "a class of one's own without forward": (
        "s08",
        {TENSOR: RESIDUAL_BY_A_CLASS, RESIDUAL: "return Residual()(x, norm, sublayer)"},
        ["pre_norm_residual: Residual has no forward, the method that MAX calls. You have forwards; call it forward."],
    ),
    "an import from a step that is not written": (
        "w02",
        {"from solutions.warmup_01 import": "from steps.warmup_01 import"},
        [
            "scaled_scores: steps/warmup_01.py: attention_scores is not written yet. "
            "Write it first, or import from solutions.warmup_01 here."
        ],
    ),
    "an earlier form of the step": (
        "w02",
        {
            "import attention_scores": "import attention_weights",
            "x: np.ndarray, W_query: np.ndarray,": "W_query: np.ndarray, x: np.ndarray,",
        },
        [
            "cannot import name 'attention_weights' from 'solutions.warmup_01'",
            "The step has changed since this file was written: see project, self_attention. `./run reset w02` writes",
        ],
    ),
    "a name much like that of another blank": (
        "s18",
        {"def attn_backward(": "def heads("},
        ["there is no attn_backward in the file any more; write it"],
    ),
    "an import of a name that is gone": (
        "w07",
        {"attention_weights, causal_mask": "attention_weights, lookback_mask"},
        [
            "cannot import name 'lookback_mask' from 'solutions.warmup_03'",
            "line 10: from solutions.warmup_03 import attention_weights, lookback_mask",
        ],
    ),
    "a guard that is reached": (
        "w02",
        {SCALED: f'if key.ndim > 9:\n        {SCALED}\n    raise NotImplementedError("only nine axes")'},
        ["scaled_scores: NotImplementedError: only nine axes"],
    ),
}


@pytest.mark.spread
@pytest.mark.parametrize(("step", "edits"), RIGHT.values(), ids=RIGHT)
def test_a_right_file_passes_however_it_is_written(course, step, edits):
    course.write(step, edits=edits)
    course.check(step, "--no-compile", status=0)


@pytest.mark.spread
@pytest.mark.parametrize(("step", "edits", "messages"), LACKING.values(), ids=LACKING)
def test_what_a_file_lacks_is_said_with_what_it_has_instead(course, step, edits, messages):
    course.write(step, edits=edits)
    shown = " ".join(course.check(step, "--no-compile", status=1).stdout.split())
    for message in messages:
        assert message in shown
    assert "Still to write: ." not in shown
