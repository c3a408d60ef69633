"""Warm-up 03, causal attention: what is claimed. No MAX is needed."""

import math

import numpy as np
import pytest

from checker.claims import about, error_of, keeps_nothing, require
from tests.references import naive
from tests.references.naive import BATCH, HEAD_DIM, LENGTH, WEIGHTS, WIDTH, drawn, equal


@pytest.fixture
def x():
    return drawn("x", BATCH, LENGTH, WIDTH)


@pytest.fixture
def matrices():
    """W_query, W_key and W_value, of another width than x."""
    return [drawn(f"W_{name}", WIDTH, HEAD_DIM) / math.sqrt(WIDTH) for name in ("query", "key", "value")]


@about("causal_mask")
def test_mask(subject):
    """Row i is True in columns 0 to i: a token sees itself and those before it, in a text of 300, too."""
    for length in (LENGTH, 2, 1, 300):
        equal(subject.causal_mask(length), naive.looks_back(length), what=f"causal_mask({length})")


def attended(query, key, mask=None):
    return naive.weights(query, key, scale=1 / math.sqrt(key.shape[-1]), mask=mask)


def query_and_key():
    return drawn("query", BATCH, LENGTH, HEAD_DIM), drawn("key", BATCH, LENGTH, HEAD_DIM)


@about("attention_weights")
def test_weights_without_a_mask(subject):
    """Without a mask, it is the softmax of the scaled scores."""
    query, key = query_and_key()
    equal(subject.attention_weights(query, key), attended(query, key), WEIGHTS, what="attention_weights(query, key)")
    keeps_nothing(subject.attention_weights, query, key, right=attended)


@about("attention_weights")
def test_weights_under_a_mask(subject):
    """Under a mask, the allowed keys share all the weight, as if the others were not there."""
    query, key = query_and_key()
    ragged = drawn("mask", LENGTH, LENGTH) > 0
    np.fill_diagonal(ragged, True)
    for mask, name in ((naive.looks_back(LENGTH), "causal"), (ragged, "ragged")):
        weights = subject.attention_weights(query, key, mask)
        equal(weights, attended(query, key, mask), WEIGHTS, what=f"attention_weights under a {name} mask")


@about("attention_weights")
def test_far_apart(subject):
    """Scores of 900 do not overflow, and a hidden score counts for nothing, even if it is the largest by far."""
    for mask in (naive.looks_back(3), None):
        with np.errstate(all="ignore"):
            weights = subject.attention_weights(naive.FAR_APART, np.eye(3), mask)
        name = "scores of 900" if mask is None else "scores of 900 under a causal mask"
        equal(weights, attended(naive.FAR_APART, np.eye(3), mask), WEIGHTS[1:], what=f"attention_weights of {name}")


@about("attention_weights")
def test_other_masks_are_refused(subject):
    """A mask of numbers raises TypeError, since 0 could mean hidden or visible."""
    query, key = query_and_key()
    mask = np.where(naive.looks_back(LENGTH), 0.0, -np.inf)
    message = error_of(
        "attention_weights with a mask of floats", lambda: subject.attention_weights(query, key, mask), TypeError
    )
    require("bool" in message, f"The message about a mask of floats is {message!r}, and must say bool.")


def expected_attention(x, matrices):
    return naive.attention(*(naive.product(x, matrix) for matrix in matrices), naive.looks_back(x.shape[-2]))


@about("causal_attention")
def test_causal_attention(subject, x, matrices):
    """The output matches loops over every sequence, token and channel."""
    expected = expected_attention(x, matrices)
    equal(subject.causal_attention(x, *matrices), expected, what="causal_attention(x, ...)")
    keeps_nothing(lambda x: subject.causal_attention(x, *matrices), x, right=lambda x: expected)


@about("causal_attention")
def test_one_sequence(subject, x, matrices):
    """A single sequence without a batch axis works as well: [seq, d_in] -> [seq, d_out]."""
    result = subject.causal_attention(x[0], *matrices)
    equal(result, expected_attention(x, matrices)[0], ("token", "channel"), what="causal_attention(x[0], ...)")


@about("causal_attention")
def test_attention_far_apart(subject):
    """Scores of 900, from a large query, do not overflow, whatever the mask hides."""
    matrices = [naive.FAR_APART, np.eye(3), drawn("W_value", 3, 3)]
    with np.errstate(all="ignore"):
        result = subject.causal_attention(np.eye(3), *matrices)
    equal(
        result, expected_attention(np.eye(3), matrices), ("token", "channel"), what="causal_attention, scores of 900,"
    )


@about("causal_attention")
def test_the_future_cannot_change_the_past(subject, x, matrices):
    """Changing the last token leaves every earlier row unchanged."""
    changed = drawn("x", BATCH, LENGTH, WIDTH).copy()
    changed[:, -1] += 1
    before, after = (np.asarray(subject.causal_attention(some, *matrices)) for some in (x, changed))
    require(
        before.shape == after.shape == (BATCH, LENGTH, HEAD_DIM),
        "causal_attention(x, ...) must be [batch, seq, d_out].",
    )
    equal(after[:, :-1], before[:, :-1], what="the rows before the changed token", whose="what it was before")
    require(bool(np.abs(after[:, -1] - before[:, -1]).max() > 1e-3), "The last row does not depend on the last token.")


@pytest.mark.drawn
@about("causal_attention")
def test_other_numbers(subject, solution, draw):
    """Random sizes, numbers, matrices and masks work as well."""
    batch, length = draw.whole("batch", 1, 4), draw.whole("seq", 2, 9)
    d_in, d_out = draw.whole("d_in", 1, 9), draw.whole("d_out", 1, 9)
    shapes = (batch, length, d_in), *[(d_in, d_out)] * 3, *[(batch, length, d_out)] * 2
    x, *others, query, key = (draw.array(*shape, dtype=np.float64) for shape in shapes)
    mask = draw.coins(length, length) | np.eye(length, dtype=bool)
    weights, right = (module.attention_weights(query, key, mask) for module in (subject, solution))
    equal(weights, right, WEIGHTS, what="attention_weights under a mask", whose="the solution's")
    result, right = (module.causal_attention(x, *others) for module in (subject, solution))
    equal(result, right, what="causal_attention(x, ...)", whose="the solution's")
