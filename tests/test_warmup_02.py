"""Warm-up 02, attention with trainable matrices: what is claimed. No MAX is needed."""

import math

import numpy as np
import pytest

from checker.claims import about, keeps_nothing, require
from tests.references import naive
from tests.references.naive import BATCH, HEAD_DIM, LENGTH, TOKENS, WEIGHTS, WIDTH, drawn, equal

NAMES = ("query", "key", "value")


@pytest.fixture
def x():
    return drawn("x", BATCH, LENGTH, WIDTH)


def matrices(d_out):
    """W_query, W_key and W_value, which keep what they multiply at about unit size."""
    return [drawn(f"W_{name}", WIDTH, d_out) / math.sqrt(WIDTH) for name in NAMES]


def parts_of(projected):
    require(
        isinstance(projected, tuple | list) and len(projected) == 3,
        "project(x, W_query, W_key, W_value) must return three arrays: query, key and value.",
    )
    return zip(NAMES, projected, strict=True)


@about("project")
def test_project(subject, x):
    """Query, key and value come back in this order, each projected from x by its own matrix."""
    wanted = [naive.product(x, matrix) for matrix in matrices(WIDTH)]
    # Side by side, so that one of three being wrong is told apart from all being wrong.
    parts = dict(parts_of(subject.project(x, *matrices(WIDTH))))
    for part in NAMES:
        require(getattr(parts[part], "shape", None) == x.shape, f"{part} must have the shape {list(x.shape)}.")
    joined = np.stack([parts[part] for part in NAMES])
    equal(joined, np.stack(wanted), ("query, key or value", *TOKENS), what="project(x, W_query, W_key, W_value)")
    keeps_nothing(lambda x: subject.project(x, *matrices(WIDTH)), x, right=lambda x: wanted)


@about("project")
def test_another_width(subject, x):
    """The matrices may make the vectors narrower, even without a batch axis: [seq, d_in] -> [seq, d_out]."""
    for some in (x, x[0]):
        parts = parts_of(subject.project(some, *matrices(HEAD_DIM)))
        for (name, part), matrix in zip(parts, matrices(HEAD_DIM), strict=True):
            equal(part, naive.product(some, matrix), naive.TOKENS[-some.ndim :], what=name)


@about("project")
def test_one_hot(subject):
    """Integer one-hot rows pick rows of the matrices, fractions and all."""
    parts = parts_of(subject.project(np.eye(WIDTH, dtype=np.int64), *matrices(HEAD_DIM)))
    for (name, part), matrix in zip(parts, matrices(HEAD_DIM), strict=True):
        equal(part, matrix, naive.TOKENS[1:], what=f"{name} of one-hot rows")


@about("scaled_scores")
def test_scaled_scores(subject):
    """The scores are the dot products divided by the square root of d_k, the width of a key."""
    query, key = drawn("query", BATCH, 4, HEAD_DIM), drawn("key", BATCH, LENGTH, HEAD_DIM)
    expected = np.array([naive.product(query[at], key[at].T) for at in range(BATCH)]) / math.sqrt(HEAD_DIM)
    equal(subject.scaled_scores(query, key), expected, WEIGHTS, what="scaled_scores(query, key)")
    keeps_nothing(subject.scaled_scores, query, key, right=lambda query, key: expected)


@about("scaled_scores")
def test_whole_numbers(subject):
    """Integer queries and keys get fractional scores."""
    rows = np.eye(3, dtype=np.int64)
    equal(
        subject.scaled_scores(rows, rows), rows / math.sqrt(3), ("query", "key"), what="scaled_scores of whole numbers"
    )


@about("scaled_scores")
def test_the_spread_stays(subject):
    """Keys with 1024 channels score no higher than keys with 16: the standard deviation stays at 1."""
    for width in (16, 1024):
        spread = float(np.std(subject.scaled_scores(drawn("query", 200, width), drawn("key", 200, width))))
        require(
            abs(spread - 1) < 0.1,
            f"With {width} channels, the scores have a standard deviation of {spread:.3g}; it must be 1.",
        )


@about("self_attention")
def test_self_attention(subject, x):
    """The output matches loops over every sequence, token and channel."""
    for d_out in (WIDTH, HEAD_DIM):
        expected = naive.attention(*(naive.product(x, matrix) for matrix in matrices(d_out)))
        equal(subject.self_attention(x, *matrices(d_out)), expected, what=f"self_attention(x, ...) to width {d_out}")
    keeps_nothing(lambda x: subject.self_attention(x, *matrices(HEAD_DIM)), x, right=lambda x: expected)


@about("self_attention")
def test_one_token(subject, x):
    """A single token can only look at itself, so it gets its own value."""
    expected = naive.product(x[:, :1], matrices(HEAD_DIM)[2])
    equal(subject.self_attention(x[:, :1], *matrices(HEAD_DIM)), expected, what="self_attention of one token")


@about("self_attention")
def test_far_apart(subject):
    """Scores of 900, from a large query, do not overflow, and the rows beside them stay right."""
    value = drawn("W_value", 3, 3)
    expected = naive.attention(naive.FAR_APART, np.eye(3), value)
    with np.errstate(all="ignore"):
        result = subject.self_attention(np.eye(3), naive.FAR_APART, np.eye(3), value)
    equal(result, expected, ("token", "channel"), what="self_attention with scores of 900")


@about("self_attention")
def test_order_does_not_matter(subject, x):
    """Reordering the tokens reorders the rows and changes nothing else: attention knows no positions."""
    order = [3, 0, 6, 1, 5, 2, 4]
    before = subject.self_attention(x, *matrices(HEAD_DIM))
    require(hasattr(before, "shape"), "self_attention(x, ...) is no array: is there a `return`?")
    after = subject.self_attention(drawn("x", BATCH, LENGTH, WIDTH)[:, order], *matrices(HEAD_DIM))
    equal(after, np.asarray(before)[:, order], what="self_attention of the tokens in another order")


@pytest.mark.drawn
@about("self_attention")
def test_other_numbers(subject, solution, draw):
    """Random sizes, numbers and matrices work as well."""
    batch, length = draw.whole("batch", 1, 4), draw.whole("seq", 2, 9)
    d_in, d_out = draw.whole("d_in", 1, 9), draw.whole("d_out", 1, 9)
    x, *drawn_matrices = (
        draw.array(*shape, dtype=np.float64) for shape in ((batch, length, d_in), *[(d_in, d_out)] * 3)
    )
    result, right = (module.self_attention(x, *drawn_matrices) for module in (subject, solution))
    equal(result, right, what="self_attention(x, ...)", whose="the solution's")
