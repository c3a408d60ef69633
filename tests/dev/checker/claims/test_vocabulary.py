"""The words of claims: a second call of a function, and cases on which two mistakes may agree."""

import importlib
import re
from contextlib import nullcontext

import numpy as np
import pytest

from checker.claims import Refusal, equal, for_each, is_value, keeps_nothing
from checker.files import ROOT

RIGHT = np.random.RandomState(0).standard_normal((2, 3, 5)).astype(np.float32)


class Doubling:
    """Doubles an array, and keeps something between calls."""

    def __init__(self):
        self.kept, self.buffer = {}, np.empty_like(RIGHT)

    def by_shape(self, x):
        return self.kept.setdefault(x.shape, 2 * x)

    def by_number(self, x):
        return self.kept.setdefault(x.tobytes(), 2 * x)

    def with_the_first_mean(self, x):
        return x - self.kept.setdefault("mean", x.mean(axis=-1, keepdims=True))

    def into_one_buffer(self, x):
        return np.multiply(x, 2, out=self.buffer)

    def longer_every_time(self, x):
        self.kept[len(self.kept)] = 2 * x
        return np.concatenate(list(self.kept.values()))

    def in_two_parts(self, x):
        return x + 1, self.kept.setdefault("part", x - 1)


def test_every_word_that_a_check_file_names_by_its_module_is_there():
    """Some are needed only to refuse, which a claim on the solution never does."""
    text = "\n".join(file.read_text() for file in sorted((ROOT / "tests").glob("test_*.py")))
    names = set(re.findall(r"\bclaims\.(\w+)\.(\w+)", text))
    assert ("vocabulary", "differing") in names
    for module, name in names:
        assert hasattr(importlib.import_module(f"checker.claims.{module}"), name), f"{module}.{name}"


@pytest.mark.parametrize("value", [-np.inf, np.nan])
def test_infinity_is_equal_to_itself_alone(value):
    wanted = np.where(RIGHT > 1, np.inf, RIGHT)
    equal(wanted.copy(), wanted)
    with pytest.raises(Refusal, match="are NaN or infinite, and differ"):
        equal(np.where(RIGHT > 1, np.float32(value), RIGHT), wanted)


@pytest.mark.parametrize(
    ("call", "right", "refused"),
    [
        (Doubling().by_shape, None, True),
        (Doubling().by_number, None, False),
        (Doubling().with_the_first_mean, lambda x: x - x.mean(axis=-1, keepdims=True), True),
        (Doubling().into_one_buffer, lambda x: 2 * x, True),
        (Doubling().longer_every_time, None, True),
        (Doubling().in_two_parts, None, True),
        (lambda x: 2 * x, None, False),
        (lambda x: None, None, False),
        (lambda x: x - x[:1], lambda x: x, False),  # its rows are wrong by themselves, which another claim says
    ],
)
def test_what_is_kept_between_calls_is_refused(call, right, refused):
    with pytest.raises(Refusal, match="kept between calls") if refused else nullcontext():
        keeps_nothing(call, RIGHT, right=right)


KEPT = "something is kept between calls"


KEEPS = "KEPT = {}\n\n\n"


#: A step, how its solution is written instead, what the check says, and what it must not say.
REFUSED = {
    "bfloat16 in a cache": (
        "s14",
        {"update_cache(block_cache, key,": "update_cache(block_cache, key.cast(DType.bfloat16).cast(key.dtype),"},
        "cached_attention: TypeError: bfloat16 is right to 3 digits",
        "No graph found",
    ),
    "sums of the first call": (
        "s18",
        {
            "def softmax_backward(": f"{KEEPS}def softmax_backward(",
            "return weights * (grad - F.sum(weights * grad, axis=-1))": "sums = KEPT.setdefault(str(weights.shape), "
            "F.sum(weights * grad, axis=-1))\n    return weights * (grad - sums)",
        },
        f"softmax_backward: The first call is right, and a second call, with another input, is wrong: {KEPT}",
        "correlation",
    ),
    "the gradients of the first call": (
        "s19",
        {
            "def head_backward(": f"{KEEPS}def head_backward(",
            'return grad_hidden_states, {"wte.weight": grad_wte} | with_prefix({"ln_f": ln_f_grads})': (
                'by_name = {"wte.weight": grad_wte} | with_prefix({"ln_f": ln_f_grads})\n'
                "    return KEPT.setdefault((id(transformer), *grad.shape), (grad_hidden_states, by_name))"
            ),
        },
        f"head_backward: The first call is right, and a second call, with another input, is wrong: {KEPT}",
        "gpt2_loss_and_gradients are each wrong",
    ),
    "no query looks further back than 128 keys": (
        "s02",
        {"num_lower=None": "num_lower=128 if str(sequence_length) == '300' else None"},
        "wrong for 129 to 299.",
        "correlation",
    ),
    "the first half of the warm-up is subtracted twice": (
        "s20",
        {"progress = min(1.0, (step - warmup_steps)": "progress = max(0.0, (step - 1.5 * warmup_steps)"},
        "learning_rate: the rate of step 12 of 24 is 0.0006, and must be 0.000512132.",
        "The cosine begins at step 0",
    ),
}


@pytest.mark.spread
@pytest.mark.parametrize(("step", "edits", "said", "not_said"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_is_wrong_in_one_case_is_told_so(course, step, edits, said, not_said):
    course.write(step, edits=edits)
    shown = " ".join(course.check(step, "--no-compile", status=1).stdout.split())
    assert said in shown
    assert not_said not in shown


def test_all_cases_are_seen_and_the_first_wrong_one_is_named():
    def half(number):
        equal(np.array(0.5 * number if number < 3 else 0.0), np.array(0.5 * number), what=f"half of {number}")

    for_each([0, 1, 2], half)
    with pytest.raises(Refusal) as raised:
        for_each([1, 3, 4], half)
    assert raised.value.sentence == "half of 3 is 0, and must be 1.5 (Hugging Face's)."
    assert raised.value.observed.tolist() == [1, 2, 0, 0]


def test_a_long_value_is_shown_as_far_as_it_tells_something():
    long = [*range(1000)]
    with pytest.raises(Refusal, match=r"it is \[0, 1, .* …, and must be \[3\]\.$") as refused:
        is_value("it", long, [3])
    assert len(refused.value.sentence) < 120
    assert refused.value.observed == f"it is {long}, and must be [3]."
    with pytest.raises(Refusal, match=r"it is … .{20}0\], and must be … .{20}1\]\.$"):
        is_value("it", [*long, 0], [*long, 1])
