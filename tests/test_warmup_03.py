"""Warm-up 03, causal attention and dropout: what is claimed. No MAX is needed.

Dropout is judged by what it does, not by the numbers it draws: which elements fall is the generator's
business, and there are several right ways of asking it.
"""

import math

import numpy as np
import pytest

from checker.claims import about, error_of, require
from tests.references import naive
from tests.references.naive import BATCH, HEAD_DIM, LENGTH, WEIGHTS, WIDTH, drawn, equal

P = 0.3
ROWS, COLUMNS = 80, 1000  # dropped one by one, their share strays from P by 0.002


@pytest.fixture
def x():
    return drawn("x", BATCH, LENGTH, WIDTH)


@pytest.fixture
def matrices():
    """W_query, W_key and W_value, of another width than x."""
    return [drawn(f"W_{name}", WIDTH, HEAD_DIM) / math.sqrt(WIDTH) for name in ("query", "key", "value")]


def generator(seed=5):
    return np.random.default_rng(seed)


@about("lookback_mask")
def test_mask(step):
    """Row i is True in columns 0 to i: every token sees itself and those before it."""
    for length in (LENGTH, 2, 1):
        equal(step.lookback_mask(length), naive.looks_back(length), what=f"lookback_mask({length})")


def attended(query, key, mask=None):
    return naive.weights(query, key, scale=1 / math.sqrt(key.shape[-1]), mask=mask)


def query_and_key():
    return drawn("query", BATCH, LENGTH, HEAD_DIM), drawn("key", BATCH, LENGTH, HEAD_DIM)


@about("attention_weights")
def test_weights_without_a_mask(step):
    """Without a mask it is the softmax of the scaled scores."""
    query, key = query_and_key()
    equal(step.attention_weights(query, key), attended(query, key), WEIGHTS, what="attention_weights(query, key)")


@about("attention_weights")
def test_weights_under_a_mask(step):
    """Under a mask the allowed keys share the whole weight, as if the others were not there."""
    query, key = query_and_key()
    ragged = drawn("mask", LENGTH, LENGTH) > 0
    np.fill_diagonal(ragged, True)
    for mask, name in ((naive.looks_back(LENGTH), "causal"), (ragged, "ragged")):
        weights = step.attention_weights(query, key, mask)
        equal(weights, attended(query, key, mask), WEIGHTS, what=f"attention_weights under a {name} mask")


@about("attention_weights")
def test_other_masks_are_refused(step):
    """A mask of numbers is a TypeError, for 0 might mean either."""
    query, key = query_and_key()
    mask = np.where(naive.looks_back(LENGTH), 0.0, -np.inf)
    message = error_of(
        "attention_weights with a mask of floats", lambda: step.attention_weights(query, key, mask), TypeError
    )
    require("bool" in message, f"The message about a mask of floats is {message!r}, and must say bool.")


def dropped(step, p=P, seed=5, training=True):
    """``dropout`` of numbers that are nowhere zero, and by what each was multiplied."""
    numbers = drawn("numbers", ROWS, COLUMNS)
    result = step.dropout(numbers, p, training=training, generator=generator(seed))
    require(getattr(result, "shape", None) == (ROWS, COLUMNS), "dropout must return an array of the shape of x.")
    return result, result / drawn("numbers", ROWS, COLUMNS)


@about("dropout")
def test_only_in_training(step):
    """Outside training every element stays what it is, and no generator is needed."""
    numbers = drawn("numbers", 3, LENGTH)
    for some in (None, generator()):
        result = step.dropout(drawn("numbers", 3, LENGTH), P, training=False, generator=some)
        require(
            np.shape(result) == (3, LENGTH) and np.allclose(result, numbers, rtol=0, atol=1e-12),
            "dropout(x, p, training=False) must return x as it is.",
        )


@about("dropout")
def test_survivors_are_scaled(step):
    """In training an element becomes either 0 or itself times 1 / (1 - p)."""
    for p in (P, 0.8):
        _, factors = dropped(step, p)
        found = np.unique(factors.round(9))
        wanted = [0, round(1 / (1 - p), 9)]
        require(
            len(found) == 2 and np.allclose(found, wanted, rtol=0, atol=1e-6),
            f"Elements were multiplied by {', '.join(f'{factor:.4g}' for factor in found[:4])}"
            f"{', …' if len(found) > 4 else ''} at p = {p}, and must be by 0 or by {wanted[1]:.4g}.",
        )


@about("dropout")
def test_the_array_is_left_alone(step):
    """The array that it is given is the same afterwards."""
    numbers = drawn("numbers", 3, LENGTH)
    step.dropout(numbers, P, training=True, generator=generator())
    equal(numbers, drawn("numbers", 3, LENGTH), ("row", "column"), what="x, after dropout(x, ...),")


@about("dropout")
def test_share_that_falls(step):
    """The share that falls is p, so that the mean stays what it was."""
    for p in (P, 0.8):
        _, factors = dropped(step, p)
        share = float((factors == 0).mean())
        # Rounded, so that the same mistake reads the same with other draws.
        require(abs(share - p) < 0.02, f"At p = {p} about {5 * round(20 * share)} % fall, and {100 * p:.0f} % must.")


@about("dropout")
def test_each_falls_by_itself(step):
    """Every element falls or stays by itself, not with its row or column."""
    _, factors = dropped(step)
    fallen = factors == 0
    for axis, whole in ((0, "column"), (1, "row")):
        spread = fallen.mean(axis=axis)
        require(bool(spread.min() > 0 and spread.max() < 1), f"There is a {whole} that falls as a whole.")


@about("dropout")
def test_the_generator_decides(step):
    """The same generator drops the same elements, another one others."""
    first, again, other = (dropped(step, seed=seed)[0] for seed in (5, 5, 6))
    require(bool(np.array_equal(first, again)), "Two calls with equal generators drop different elements.")
    require(not np.array_equal(first, other), "Two calls with different generators drop the same elements.")


@about("dropout")
def test_the_generator_moves_on(step):
    """A second call with the same generator drops other elements."""
    one = generator()
    first, second = (step.dropout(drawn("numbers", ROWS, COLUMNS), P, training=True, generator=one) for _ in range(2))
    require(not np.array_equal(first, second), "Two calls in a row, with one generator, drop the same elements.")


@about("dropout")
def test_bad_arguments_are_refused(step):
    """A p below 0 or from 1 up, and training without a generator, are a ValueError."""
    for p in (-0.1, 1, 1.5):
        call = f"dropout(x, p={p}, ...)"
        message = error_of(call, lambda: step.dropout(np.ones(3), p, training=True, generator=generator()))  # noqa: B023 - called at once
        require(str(p) in message, f"The message of {call} is {message!r}, and must name {p}.")
    call = "dropout(x, p, training=True, generator=None)"
    message = error_of(call, lambda: step.dropout(np.ones(3), P, training=True, generator=None))
    require("generator" in message, f"The message of {call} is {message!r}, and must name generator.")


def expected_attention(x, matrices):
    return naive.attention(*(naive.product(x, matrix) for matrix in matrices), naive.looks_back(x.shape[-2]))


@about("causal_attention")
def test_causal_attention(step, x, matrices):
    """Outside training it returns what loops over every sequence, token and channel return."""
    equal(step.causal_attention(x, *matrices), expected_attention(x, matrices), what="causal_attention(x, ...)")
    result = step.causal_attention(x, *matrices, p=P, training=False, generator=generator())
    equal(result, expected_attention(x, matrices), what="causal_attention(x, ..., p=0.3, training=False)")


@about("causal_attention")
def test_one_sequence(step, x, matrices):
    """One sequence without a batch in front is attended as well: [seq, d_in] -> [seq, d_out]."""
    result = step.causal_attention(x[0], *matrices)
    equal(result, expected_attention(x, matrices)[0], ("token", "channel"), what="causal_attention(x[0], ...)")


@about("causal_attention")
def test_the_future_cannot_change_the_past(step, x, matrices):
    """Another last token leaves every earlier row as it was."""
    changed = drawn("x", BATCH, LENGTH, WIDTH).copy()
    changed[:, -1] += 1
    before, after = (np.asarray(step.causal_attention(some, *matrices)) for some in (x, changed))
    require(
        before.shape == after.shape == (BATCH, LENGTH, HEAD_DIM),
        "causal_attention(x, ...) must be [batch, seq, d_out].",
    )
    equal(after[:, :-1], before[:, :-1], what="the rows before the changed token", whose="what it was before")
    require(bool(np.abs(after[:, -1] - before[:, -1]).max() > 1e-3), "The last row does not depend on the last token.")


@about("causal_attention")
def test_dropout_falls_on_the_weights(step, x, matrices):
    """In training whole values fall out of the sum: dropout acts on the weights after the softmax."""
    value = naive.product(x, matrices[2])[:, 0]  # all that the first token can gather, with the weight 1
    factors = []
    for seed in range(40):
        result = step.causal_attention(
            drawn("x", BATCH, LENGTH, WIDTH), *matrices, p=P, training=True, generator=generator(seed)
        )
        require(
            getattr(result, "shape", None) == (BATCH, LENGTH, HEAD_DIM),
            "causal_attention(x, ...) must be [batch, seq, d_out].",
        )
        factors.append(result[:, 0] / value)
    factors = np.array(factors)  # [draw, batch, channel]
    require(bool(np.isfinite(factors).all()), "In training the first row is not finite.")
    together = bool(np.allclose(factors, factors[..., :1], rtol=0, atol=1e-6))
    found = np.unique(factors.round(6))
    values = ", ".join(f"{factor:.4g}" for factor in found[:3])
    require(together, f"In training the channels of one value fall one by one; factors {values}.")
    require(
        len(found) == 2 and np.allclose(found, [0, 1 / (1 - P)], rtol=0, atol=1e-5),
        f"In training the weight 1 of the first token became {values}, and must become 0 or {1 / (1 - P):.4g}.",
    )


@pytest.mark.drawn
@about("causal_attention")
def test_other_numbers(step, answer, draw):
    """Sizes, numbers, matrices and masks drawn anew are right as well."""
    batch, length = draw.whole("batch", 1, 4), draw.whole("seq", 1, 9)
    d_in, d_out = draw.whole("d_in", 1, 9), draw.whole("d_out", 1, 9)
    shapes = (batch, length, d_in), *[(d_in, d_out)] * 3, *[(batch, length, d_out)] * 2
    x, *others, query, key = (draw.array(*shape, dtype=np.float64) for shape in shapes)
    mask = draw.coins(length, length) | np.eye(length, dtype=bool)
    weights, right = (one.attention_weights(query, key, mask) for one in (step, answer))
    equal(weights, right, WEIGHTS, what="attention_weights under a mask", whose="the solution's")
    result, right = (one.causal_attention(x, *others) for one in (step, answer))
    equal(result, right, what="causal_attention(x, ...)", whose="the solution's")
