"""Warm-up 02, attention with trainable matrices: what is claimed, and the mistakes that can be named. No MAX is needed."""

import math

import numpy as np
import pytest

from checker.claims import about, require
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
def test_project(step, x):
    """Query, key and value come in this order, each from x by its own matrix."""
    wanted = [naive.product(x, matrix) for matrix in matrices(WIDTH)]
    # Side by side, so that one of three being wrong is told apart from all being wrong.
    parts = dict(parts_of(step.project(x, *matrices(WIDTH))))
    for part in NAMES:
        require(getattr(parts[part], "shape", None) == x.shape, f"{part} must have the shape {list(x.shape)}.")
    joined = np.stack([parts[part] for part in NAMES])
    equal(joined, np.stack(wanted), ("query, key or value", *TOKENS), what="project(x, W_query, W_key, W_value)")


@about("project")
def test_another_width(step, x):
    """The matrices may make the vectors narrower: [seq, d_in] -> [seq, d_out]."""
    for (name, part), matrix in zip(parts_of(step.project(x, *matrices(HEAD_DIM))), matrices(HEAD_DIM), strict=True):
        equal(part, naive.product(x, matrix), what=name)


@about("scaled_scores")
def test_scaled_scores(step):
    """The scores are the dot products over the square root of d_k, the width of a key."""
    query, key = drawn("query", BATCH, 4, HEAD_DIM), drawn("key", BATCH, LENGTH, HEAD_DIM)
    expected = np.array([naive.product(query[at], key[at].T) for at in range(BATCH)]) / math.sqrt(HEAD_DIM)
    equal(step.scaled_scores(query, key), expected, WEIGHTS, what="scaled_scores(query, key)")


@about("scaled_scores")
def test_the_spread_stays(step):
    """Keys of 1024 channels score no higher than keys of 16: the spread stays at one."""
    for width in (16, 1024):
        spread = float(np.std(step.scaled_scores(drawn("query", 200, width), drawn("key", 200, width))))
        require(
            abs(spread - 1) < 0.1, f"The scores of vectors of {width} channels spread by {spread:.3g}, and must by 1."
        )


@about("self_attention")
def test_self_attention(step, x):
    """It returns what loops over every sequence, token and channel return."""
    for d_out in (WIDTH, HEAD_DIM):
        expected = naive.attention(*(naive.product(x, matrix) for matrix in matrices(d_out)))
        equal(step.self_attention(x, *matrices(d_out)), expected, what=f"self_attention(x, ...) to width {d_out}")


@about("self_attention")
def test_one_token(step, x):
    """A token alone has only itself to gather from: its own value."""
    expected = naive.product(x[:, :1], matrices(HEAD_DIM)[2])
    equal(step.self_attention(x[:, :1], *matrices(HEAD_DIM)), expected, what="self_attention of one token")


@about("self_attention")
def test_order_does_not_matter(step, x):
    """Tokens in another order give the same rows in that order: attention knows no positions."""
    order = [3, 0, 6, 1, 5, 2, 4]
    before = step.self_attention(x, *matrices(HEAD_DIM))
    require(hasattr(before, "shape"), "self_attention(x, ...) is no array: is there a `return`?")
    after = step.self_attention(drawn("x", BATCH, LENGTH, WIDTH)[:, order], *matrices(HEAD_DIM))
    equal(after, np.asarray(before)[:, order], what="self_attention of the tokens in another order")


PROJECT = "return x @ W_query, x @ W_key, x @ W_value"
SCALE = "attention_scores(query, key) / math.sqrt(key.shape[-1])"
QKV = "query, key, value = project(x, W_query, W_key, W_value)"
WEIGH = "weights = softmax(scaled_scores(query, key))"
GATHER = "return context_vectors(weights, value)"

MISTAKES = {
    "The matrices are transposed: they are [d_in, d_out], so x @ W is all.": {
        PROJECT: "return x @ W_query.T, x @ W_key.T, x @ W_value.T"
    },
    "The order is key, query, value; it must be query, key, value.": {
        PROJECT: "return x @ W_key, x @ W_query, x @ W_value"
    },
    "The order is query, value, key; it must be query, key, value.": {
        PROJECT: "return x @ W_query, x @ W_value, x @ W_key"
    },
    "One matrix makes all three: use W_key for the key and W_value for the value.": {
        PROJECT: "return x @ W_query, x @ W_query, x @ W_query"
    },
    "The value is x itself; project it with W_value.": {PROJECT: "return x @ W_query, x @ W_key, x"},
    "Nothing is projected: query, key and value are all x.": {PROJECT: "return x, x, x"},
    "The three are projected one out of the other; each comes from x.": {
        PROJECT: "return x @ W_query, x @ W_query @ W_key, x @ W_query @ W_key @ W_value"
    },
    "The scores are not scaled: divide them by the square root of d_k.": {SCALE: "attention_scores(query, key)"},
    "The scores are divided by d_k itself; it is its square root.": {
        SCALE: "attention_scores(query, key) / key.shape[-1]"
    },
    "The scores are multiplied by the square root of d_k; divide by it.": {
        SCALE: "attention_scores(query, key) * math.sqrt(key.shape[-1])"
    },
    "The scores are divided by the square root of the number of keys; it is that of their width.": {
        SCALE: "attention_scores(query, key) / math.sqrt(key.shape[-2])"
    },
    "The scale is a constant: take d_k from the shape of the key.": {SCALE: "attention_scores(query, key) / 8"},
    "Query and key have changed places in the scores.": {WEIGH: "weights = softmax(scaled_scores(key, query))"},
    "There is no softmax: the scores themselves are used as weights.": {WEIGH: "weights = scaled_scores(query, key)"},
    "The softmax runs over the queries; it must run over the keys, the last axis.": {
        WEIGH: "weights = softmax(scaled_scores(key, query)).swapaxes(-2, -1)"
    },
    "The plain scores are used; scaled_scores divides them by the square root of d_k.": {
        WEIGH: "weights = softmax(attention_scores(query, key))"
    },
    "The scores are scaled twice: scaled_scores divides by the square root of d_k already.": {
        WEIGH: "weights = softmax(scaled_scores(query, key) / math.sqrt(key.shape[-1]))"
    },
    "The weights gather x; they must gather the values.": {GATHER: "return context_vectors(weights, x)"},
    "The weights gather the keys; they must gather the values.": {GATHER: "return context_vectors(weights, key)"},
    "The weights are returned; they still have to gather the values.": {GATHER: "return weights"},
}

ALTERNATIVES = {
    "three from one loop": {PROJECT: "return tuple(x @ matrix for matrix in (W_query, W_key, W_value))"},
    "a list, by einsum": {
        PROJECT: 'return [np.einsum("...i,io->...o", x, matrix) for matrix in (W_query, W_key, W_value)]'
    },
    "one fused multiplication": {
        PROJECT: "return np.split(x @ np.concatenate([W_query, W_key, W_value], axis=-1), 3, axis=-1)"
    },
    "the scale folded into the query": {SCALE: "attention_scores(query * key.shape[-1] ** -0.5, key)"},
    "NumPy's square root": {SCALE: "attention_scores(query, key) / np.sqrt(query.shape[-1])"},
    "scores by hand": {SCALE: "query @ key.swapaxes(-1, -2) * key.shape[-1] ** -0.5"},
    "softmax by hand": {
        WEIGH: "weights = np.exp(scaled_scores(query, key))\n    weights = weights / weights.sum(axis=-1, keepdims=True)",
        GATHER: "return weights @ value",
    },
    "normalized after gathering": {
        WEIGH: "weights = np.exp(scaled_scores(query, key))",
        GATHER: "return weights @ value / weights.sum(axis=-1, keepdims=True)",
    },
}
