"""What is said of wrong numbers when no mistake explains them."""

import numpy as np
import pytest

from checker.claims import Refusal, equal

RIGHT = np.random.RandomState(0).standard_normal((2, 3, 5)).astype(np.float32)


def changed(where, by=0.5):
    wrong = RIGHT.copy()
    wrong[where] += by * np.arange(1, wrong[where].size + 1).reshape(wrong[where].shape)
    return wrong


def sentence(wrong):
    with pytest.raises(Refusal) as refused:
        equal(wrong, RIGHT)
    return refused.value.sentence


SAID = {
    "Everything is zero.": np.zeros_like(RIGHT),
    "yours is -1 times Hugging Face's": -RIGHT,
    "yours is 0.5 times Hugging Face's": RIGHT / 2,
    "off by the same amount, +0.25": RIGHT + np.float32(0.25),
    "lie in the order (batch, channel, token)": RIGHT.transpose(0, 2, 1).reshape(RIGHT.shape),
    "their order is not: look at the reshapes": np.roll(RIGHT.reshape(-1), 1).reshape(RIGHT.shape),
    "Only the last token is right.": changed(np.s_[:, :2]),
    "Only the first token is wrong.": changed(np.s_[:, :1]),
    "Only channel 2 is wrong.": changed(np.s_[:, :, 2]),
    "The values are right for channel 0 to 2, wrong for 3, 4.": changed(np.s_[:, :, 3:]),
    "at batch 1, token 2, channel 4: yours": changed(np.s_[1, 2, 4:]),
    "the shape [2, 3], and must have [batch 2, token 3, channel 5]": RIGHT[..., 0],
    "is float64, and must be float32": RIGHT.astype(np.float64),
    "2 of 30 values that are NaN or infinite, the first at batch 0, token 1, channel 0": np.where(
        np.isin(np.arange(30).reshape(RIGHT.shape), [5, 7]), np.float32(np.nan), RIGHT
    ),
    "is None: is there a `return`?": None,
    "is a tuple, where one tensor is expected": (RIGHT, RIGHT),
}


def test_ids_and_bools_have_a_first_difference_and_no_largest():
    text, other = np.array([[3, 1, 4], [1, 5, 9]]), np.array([[3, 1, 4], [1, 7, 2]])
    with pytest.raises(Refusal, match=r"In the text, token 1 of row 1 is 7, and must be 5\."):
        equal(other, text, ("row", "token"), what="the text")
    with pytest.raises(Refusal, match=r"\(column, row\).* In the mask, column 1 of row 0 is True, and must be False."):
        equal(np.triu(np.ones((2, 2), bool)), np.tril(np.ones((2, 2), bool)), what="the mask")


def test_the_shape_of_a_list_has_no_names():
    with pytest.raises(Refusal, match=r"the shape \[3\], and must have \[40\]\."):
        equal(np.zeros(3), np.zeros(40), ("row",))


def test_one_number_has_no_place_and_no_pattern():
    three = np.array(3, np.float32)
    with pytest.raises(Refusal, match=r"^Yours is 2\.5, Hugging Face's 3\.$"):
        equal(np.array(2.5, np.float32), three)
    with pytest.raises(Refusal, match=r"^the loss is nan, and must be 3\.$"):
        equal(np.array(np.nan, np.float32), three, what="the loss")
    with pytest.raises(Refusal, match=r"has the shape \[3\], and must have \[\]\."):
        equal(np.ones(3, np.float32), three)


@pytest.mark.parametrize(("words", "wrong"), SAID.items(), ids=SAID)
def test_what_is_said(words, wrong):
    assert words in sentence(wrong)


def test_what_is_right_is_accepted():
    equal(RIGHT, RIGHT)
    equal(RIGHT + np.float32(5e-6), RIGHT)
    equal(np.full(3, np.nan, np.float32), np.full(3, np.nan, np.float32))


def test_the_tolerance_tells_exact_gelu_from_tanh_gelu():
    x = np.linspace(-4, 4, 801)
    tanh = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    from math import erf

    exact = np.array([0.5 * value * (1 + erf(value / np.sqrt(2))) for value in x])
    assert 4e-4 < np.abs(tanh - exact).max() < 5e-4
    with pytest.raises(Refusal):
        equal(exact.astype(np.float32), tanh.astype(np.float32))
