"""What is said of wrong numbers when no mistake explains them."""

from contextlib import nullcontext
from types import MappingProxyType

import numpy as np
import pytest

from checker.claims import Refusal, equal
from checker.numeric.comparison import HUGGING_FACE, Comparison
from checker.numeric.tolerance import TF32_TOLERANCE, TOLERANCE, tolerance_now

RIGHT = np.random.RandomState(0).standard_normal((2, 3, 5)).astype(np.float32)


def changed(where, by=0.5):
    wrong = RIGHT.copy()
    wrong[where] += by * np.arange(1, wrong[where].size + 1).reshape(wrong[where].shape)
    return wrong


def comparison(wrong, right, inputs=MappingProxyType({}), tolerance=TOLERANCE):
    axes = ("batch", "token", "channel")[-right.ndim :]
    return Comparison("it", wrong, right, axes, HUGGING_FACE, inputs, tolerance)


def sentence(wrong):
    with pytest.raises(Refusal) as refused:
        equal(wrong, RIGHT)
    return refused.value.sentence


SAID = {
    "Your result is all zeros.": np.zeros_like(RIGHT),
    "yours is -1 times Hugging Face's": -RIGHT,
    "yours is 0.5 times Hugging Face's": RIGHT / 2,
    "Everything is off by one amount: +0.25.": RIGHT + np.float32(0.25),
    "but in the order (batch, channel, token)": RIGHT.transpose(0, 2, 1).reshape(RIGHT.shape),
    "Each token is off by its own factor: yours is 1 to 3 times": RIGHT * np.arange(1, 4, dtype=np.float32)[:, None],
    "Only the first channel is right, and later ones are further off.": RIGHT + 0.5 * np.arange(5, dtype=np.float32),
    "but their order is not: look at the reshapes": np.roll(RIGHT.reshape(-1), 1).reshape(RIGHT.shape),
    "Only the last token is right.": changed(np.s_[:, :2]),
    "Only the first token is wrong.": changed(np.s_[:, :1]),
    "Only channel 2 is wrong.": changed(np.s_[:, :, 2]),
    "The numbers are right for channels 0 to 2, wrong for 3, 4": changed(np.s_[:, :, 3:]),
    "at batch 1, token 2, channel 4: yours": changed(np.s_[1, 2, 4:]),
    "the shape [2, 3], and must have [2, 3, 5] (batch, token, channel)": RIGHT[..., 0],
    "is float64, and must be float32": RIGHT.astype(np.float64),
    "2 of 30 values are NaN or infinite, the first at batch 0, token 1, channel 0": np.where(
        np.isin(np.arange(30).reshape(RIGHT.shape), [5, 7]), np.float32(np.nan), RIGHT
    ),
    "is None: is there a `return`?": None,
    "is a tuple, where one tensor is expected": (RIGHT, RIGHT),
}


@pytest.mark.parametrize(("words", "wrong"), SAID.items(), ids=SAID)
def test_what_is_said(words, wrong):
    assert words in sentence(wrong)


NAN, INFINITE = (np.where(RIGHT > 0, RIGHT, value) for value in (np.nan, np.inf))


@pytest.mark.parametrize(
    ("actual", "expected", "said"),
    [
        (NAN, RIGHT, "In it, 9 of 30 values are NaN or infinite, the first at "),
        (NAN, INFINITE, "In it, 9 of 30 values are NaN or infinite, and differ from what it was before, the first at "),
        (RIGHT, NAN, "In it, 9 of 30 values are neither NaN nor infinite, unlike what it was before, the first at "),
        (NAN, NAN, ""),
    ],
    ids=["here", "another", "before", "both"],
)
def test_numbers_that_are_not_finite_are_counted_where_they_are(actual, expected, said):
    """What is expected may be what the learner's own function has returned before."""
    with pytest.raises(Refusal, match=f"^{said}batch 0, token ") if said else nullcontext():
        equal(actual, expected, what="it", whose="what it was before")


SHARES = np.exp(RIGHT) / np.exp(RIGHT).sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(
    ("wrong", "right", "words"),
    [
        (np.array([[np.inf, 1.0]]), np.ones((1, 2)), "inf - inf are NaN."),
        (np.array([[-np.inf, np.nan]]), np.ones((1, 2)), "inf - inf are NaN."),
        (np.array([[-np.inf, 1.0]]), np.ones((1, 2)), "comes from a mask, or from the logarithm of 0."),
        (SHARES + SHARES**2, SHARES, "Rows must add up to 1; yours add up to "),
        (
            RIGHT + RIGHT**3,
            RIGHT,
            "No batch, token or channel is right throughout; yours and the right numbers have a correlation of",
        ),
        (RIGHT[::-1] ** 2, np.where(RIGHT > 1, RIGHT, 0), "22 of the 22 numbers that must be 0 are not."),
        (np.cos(9 * RIGHT), RIGHT, "yours and the right numbers have a correlation of 0.01."),
        (np.full_like(RIGHT, 2), np.cos(9 * RIGHT), "No batch, token or channel is right throughout."),
        (-RIGHT, RIGHT, ""),
    ],
)
def test_what_is_said_of_numbers_without_a_pattern_or_a_name(wrong, right, words):
    said = comparison(wrong, right).tendency()
    assert words in said
    assert bool(said) == bool(words)


HIDDEN = np.array([[1, -np.inf, 2], [-np.inf, 3, 4]])
SAME_TOKENS = np.broadcast_to(RIGHT[:, :1], RIGHT.shape)
LATER = (np.arange(3) > 0)[:, None]


@pytest.mark.parametrize(
    ("wrong", "right", "words", "not_said"),
    [
        (np.array([[7, -np.inf, -5], [-np.inf, 9, 0.5]]), HIDDEN, "", "order"),
        (SAME_TOKENS * [1, 2, 4, 3, 5], SAME_TOKENS, "Each channel is off by its own factor: yours is 1 to 5", "batch"),
        (SAME_TOKENS * changed(np.s_[:]), SAME_TOKENS, "", "its own"),
        (
            RIGHT * (np.arange(3) != 1)[:, None],
            RIGHT,
            "Only the token at position 1 is wrong. Where it is wrong",
            "own",
        ),
        (changed(np.s_[:, 1:, 2:]), RIGHT, "Only the first token is right, and later ones", "id"),
        (changed(np.s_[:]) * LATER, RIGHT * LATER, "Only the first token, where every number must be 0, is", "own"),
    ],
)
def test_a_pattern_is_no_coincidence(wrong, right, words, not_said):
    pattern = comparison(wrong, right).pattern
    assert words in pattern
    assert not_said not in pattern


def test_on_a_gpu_a_claim_has_more_room():
    noise = np.where(np.arange(RIGHT.size).reshape(RIGHT.shape) % 2, 1e-3, -1e-3).astype(np.float32)
    token = tolerance_now.set(TF32_TOLERANCE)
    try:
        equal(RIGHT + noise, RIGHT)
        assert "Everything is off by one factor" in sentence(noise - RIGHT)
    finally:
        tolerance_now.reset(token)
    assert "one factor" not in sentence(noise - RIGHT)


def test_an_output_that_is_an_input_is_found():
    other = RIGHT + 1
    assert comparison(RIGHT, other, {"n": 3, "x": RIGHT}).copied_input() == "x"
    assert comparison(other, RIGHT, {"x": RIGHT}).copied_input() == ""


THREE, MASK = np.array(3, np.float32), np.ones((2, 2), bool)
IDS, OTHER_IDS = np.array([[3, 1, 4], [1, 5, 9]]), np.array([[3, 1, 4], [1, 7, 2]])


@pytest.mark.parametrize(
    ("wrong", "right", "words"),
    [
        (OTHER_IDS, IDS, "In it, column 1 of row 1 is 7, and must be 5."),
        (np.triu(MASK), np.tril(MASK), "In it, column 1 of row 0 is True, and must be False."),
        (np.zeros(3), np.zeros(40), "it has the shape [3], and must have [40]."),
        (np.array(2.5, np.float32), THREE, "it is 2.5, and must be 3 (Hugging Face's): yours is 0.8333 times as much."),
        (np.array(np.nan, np.float32), THREE, "it is nan, and must be 3."),
        (np.ones(3, np.float32), THREE, "it has the shape [3], and must have []."),
    ],
)
def test_ids_bools_and_single_numbers_have_no_largest_difference(wrong, right, words):
    with pytest.raises(Refusal) as refused:
        equal(wrong, right, what="it")
    assert refused.value.sentence.endswith(words)


LARGE_IDS = np.array([[50_256, 7, 50_255], [3, 50_256, 12]])


@pytest.mark.parametrize(
    ("wrong", "right", "place"),
    [
        (LARGE_IDS - (LARGE_IDS == 50_255), LARGE_IDS, "column 2 of row 0 is 50254, and must be 50255"),
        (LARGE_IDS - (LARGE_IDS == 3), LARGE_IDS, "column 0 of row 1 is 2, and must be 3"),
        (np.array([2**60 + 1, 1]), np.array([2**60, 1]), f"channel 0 is {2**60 + 1}, and must be {2**60}"),
        (np.array([200, 1], np.uint8), np.array([201, 1], np.uint8), "channel 0 is 200, and must be 201"),
        (np.array([True, False]), np.array([True, True]), "channel 1 is False, and must be True"),
    ],
    ids=["large ids", "a small id beside large ones", "beyond float64", "bytes", "booleans"],
)
@pytest.mark.parametrize("tolerance", [TOLERANCE, TF32_TOLERANCE], ids=["CPU", "GPU"])
def test_whole_numbers_and_booleans_must_be_the_same(wrong, right, place, tolerance):
    token = tolerance_now.set(tolerance)
    try:
        equal(right, right)
        with pytest.raises(Refusal) as refused:
            equal(wrong, right, what="it")
    finally:
        tolerance_now.reset(token)
    assert place in refused.value.sentence
    assert "The numbers are right, but" not in refused.value.sentence
