"""Warm-up 05, multi-head attention: what is claimed. No MAX is needed.

The claims about multi_head_attention begin with the five that the exercise is usually tested by.
"""

import itertools
import math

import numpy as np
import pytest

from checker.claims import about, error_of, is_value, keeps_nothing, require
from tests.references import naive
from tests.references.naive import BATCH, HEADS, LENGTH, WIDTH, drawn, equal

NAMES = ("query", "key", "value")
PUBLISHED = ((768, 2359296, 2362368), (1024, 4194304, 4198400), (1280, 6553600, 6558720), (1600, 10240000, 10246400))


@pytest.fixture
def x():
    return drawn("x", BATCH, LENGTH, WIDTH)


@pytest.fixture
def W_qkv():
    return drawn("W_qkv", WIDTH, 3 * WIDTH) / math.sqrt(WIDTH)


@pytest.fixture
def W_o():
    return drawn("W_o", WIDTH, WIDTH) / math.sqrt(WIDTH)


@about("fuse")
def test_fuse(subject):
    """The three matrices lie side by side: query, key, value."""
    matrices = [drawn(f"W_{name}", WIDTH, WIDTH) for name in NAMES]
    expected = np.array([[number for matrix in matrices for number in matrix[row]] for row in range(WIDTH)])
    equal(subject.fuse(*matrices), expected, ("row", "column"), what="fuse(W_query, W_key, W_value)")
    keeps_nothing(subject.fuse, *matrices, right=lambda *matrices: expected)


@about("project_fused")
def test_project_fused(subject, x, W_qkv):
    """The first third of the channels is the query, the second the key, the last the value, batch axis or not."""
    for some in (x, x[0]):
        parts = subject.project_fused(some, W_qkv)
        require(
            isinstance(parts, tuple | list) and len(parts) == 3,
            "project_fused(x, W_qkv) must return three arrays: query, key and value.",
        )
        for name, part in zip(NAMES, parts, strict=True):
            require(getattr(part, "shape", None) == some.shape, f"{name} must have the shape {list(some.shape)}.")
        expected = np.stack([naive.product(some, W_qkv[:, at * WIDTH : (at + 1) * WIDTH]) for at in range(3)])
        axes = ("query, key or value", *naive.TOKENS[-some.ndim :])
        equal(np.stack(parts), expected, axes, what="project_fused(x, W_qkv)")
        keeps_nothing(lambda x: subject.project_fused(x, W_qkv), some, right=lambda x: [*expected])  # noqa: B023


@about("multi_head_attention")
def test_shape(subject, x, W_qkv, W_o):
    """It returns [batch, seq, embd], the shape of x."""
    for batch, length in ((BATCH, LENGTH), (1, 1), (3, 2)):
        shape = getattr(
            subject.multi_head_attention(drawn("x", batch, length, WIDTH), W_qkv, W_o, HEADS), "shape", None
        )
        wanted = (batch, length, WIDTH)
        require(
            shape == wanted, f"The shape is {shape and list(shape)} for an x of {list(wanted)}, and must be the same."
        )


@about("multi_head_attention")
def test_without_a_mask(subject, x, W_qkv, W_o):
    """Without a mask, the output matches loops over every sequence, head, token and channel."""
    for n_head in (HEADS, 5):
        expected = naive.multi_head_attention(x, W_qkv, W_o, n_head)
        equal(
            subject.multi_head_attention(x, W_qkv, W_o, n_head), expected, what=f"multi_head_attention, {n_head} heads,"
        )
    keeps_nothing(lambda x: subject.multi_head_attention(x, W_qkv, W_o, 5), x, right=lambda x: expected)


@about("multi_head_attention")
def test_the_causal_mask_is_honored(subject, x, W_qkv, W_o):
    """Under the causal mask, it matches the loops, and changing the last token leaves earlier rows unchanged."""
    mask = naive.looks_back(LENGTH)
    before = subject.multi_head_attention(x, W_qkv, W_o, HEADS, mask)
    expected = naive.multi_head_attention(x, W_qkv, W_o, HEADS, mask)
    equal(before, expected, what="multi_head_attention under the causal mask")
    changed = drawn("x", BATCH, LENGTH, WIDTH).copy()
    changed[:, -1] += 1
    after = subject.multi_head_attention(changed, W_qkv, W_o, HEADS, mask=mask)
    equal(after[:, :-1], before[:, :-1], what="the rows before the changed token", whose="what it was before")
    require(bool(np.abs(after[:, -1] - before[:, -1]).max() > 1e-3), "The last row does not depend on the last token.")


@about("multi_head_attention")
def test_one_head(subject, x, W_qkv, W_o):
    """One head is plain attention between the two projections."""
    mask = naive.looks_back(LENGTH)
    parts = [naive.product(x, W_qkv[:, at * WIDTH : (at + 1) * WIDTH]) for at in range(3)]
    for some in (None, mask):
        expected = naive.product(naive.attention(*parts, some), W_o)
        name = "multi_head_attention, one head," if some is None else "one head under the causal mask"
        equal(subject.multi_head_attention(x, W_qkv, W_o, 1, some), expected, what=name)


@about("multi_head_attention")
def test_far_apart(subject):
    """Scores of 900, from a large query, do not overflow, whatever the mask hides."""
    x, value = np.eye(3), drawn("W_value", 3, 3)
    W_qkv = np.concatenate([naive.FAR_APART, x, value], axis=-1)
    for mask in (naive.looks_back(3), None):
        with np.errstate(all="ignore"):
            result = subject.multi_head_attention(x[None], W_qkv, x, 1, mask)
        equal(
            result, naive.attention(naive.FAR_APART, x, value, mask)[None], what="multi_head_attention, scores of 900,"
        )


@about("multi_head_attention")
def test_the_number_of_heads_matters(subject, x, W_qkv, W_o):
    """A different number of heads gives a different output."""
    outputs = {n_head: np.asarray(subject.multi_head_attention(x, W_qkv, W_o, n_head)) for n_head in (1, 3, 5, 15)}
    for n_head, other in itertools.combinations(outputs, 2):
        difference = np.abs(outputs[n_head] - outputs[other]).max()
        require(bool(difference > 1e-3), f"{n_head} and {other} heads give the same output.")


@about("multi_head_attention")
def test_any_mask(subject, x, W_qkv, W_o):
    """Any boolean mask, not just the causal one, applies to every sequence and head."""
    mask = drawn("mask", LENGTH, LENGTH) > 0
    np.fill_diagonal(mask, True)
    expected = naive.multi_head_attention(x, W_qkv, W_o, HEADS, mask)
    equal(
        subject.multi_head_attention(x, W_qkv, W_o, HEADS, mask),
        expected,
        what="multi_head_attention under a ragged mask",
    )


@about("multi_head_attention")
def test_one_hot(subject, W_qkv, W_o):
    """An integer x, one-hot rows here, gives fractional outputs."""
    x = np.eye(WIDTH, dtype=np.int64)[None]
    expected = naive.multi_head_attention(x, W_qkv, W_o, HEADS)
    equal(subject.multi_head_attention(x, W_qkv, W_o, HEADS), expected, what="multi_head_attention of one-hot rows")


@about("multi_head_attention")
def test_each_head_works_alone(subject, x, W_qkv):
    """Changing what the last head sees changes its own channels and no others."""
    other = W_qkv.copy()
    other[:, 2 * WIDTH - WIDTH // HEADS : 2 * WIDTH] *= -1  # the keys of the last head
    unmixed = np.eye(WIDTH)
    before, after = (np.asarray(subject.multi_head_attention(x, some, unmixed, HEADS)) for some in (W_qkv, other))
    require(before.shape == after.shape == x.shape, "multi_head_attention must return [batch, seq, embd].")
    own = WIDTH // HEADS
    equal(after[..., :-own], before[..., :-own], what="the channels of the other heads", whose="what it was before")
    require(bool(np.abs(after - before)[..., -own:].max() > 1e-3), "The last head does not depend on its own keys.")


@about("multi_head_attention")
def test_uneven_heads_are_refused(subject, x, W_qkv, W_o):
    """A number of heads that does not divide n_embd raises a ValueError that names both numbers."""
    for n_head in (4, 7, 30):
        call = f"multi_head_attention, n_embd = {WIDTH}, n_head = {n_head},"
        message = error_of(call, lambda: subject.multi_head_attention(x, W_qkv, W_o, n_head))  # noqa: B023
        for number in (WIDTH, n_head):
            require(str(number) in message, f"The message of {call} is {message!r}, and must name {number}.")


@about("parameter_count")
def test_without_biases(subject):
    """Without biases a layer has 4 n_embd² parameters: 2,359,296 for GPT-2 small."""
    for n_embd, weights, _ in ((WIDTH, 900, 960), *PUBLISHED):
        is_value(f"parameter_count({n_embd})", subject.parameter_count(n_embd), weights)


@about("parameter_count")
def test_with_biases(subject):
    """With biases, as in GPT-2, it has 4 n_embd² + 4 n_embd: 2,362,368 for GPT-2 small."""
    for n_embd, _, both in ((WIDTH, 900, 960), *PUBLISHED):
        is_value(f"parameter_count({n_embd}, bias=True)", subject.parameter_count(n_embd, bias=True), both)


@about("parameter_count")
def test_count_is_of_the_real_arrays(subject, W_qkv, W_o):
    """The count is the size of the arrays that multi_head_attention takes."""
    is_value("parameter_count of these W_qkv and W_o", subject.parameter_count(WIDTH), W_qkv.size + W_o.size)


@pytest.mark.drawn
@about("multi_head_attention")
def test_other_numbers(subject, solution, draw):
    """Random sizes, numbers, matrices and masks work as well."""
    batch, length = draw.whole("batch", 1, 4), draw.whole("seq", 2, 9)
    n_head = draw.whole("n_head", 1, 5)
    width = n_head * draw.whole("head_dim", 1, 6, times=n_head)
    shapes = (batch, length, width), (width, 3 * width), (width, width)
    x, W_qkv, W_o = (draw.array(*shape, dtype=np.float64) for shape in shapes)
    for mask in (None, draw.coins(length, length) | np.eye(length, dtype=bool)):
        result, right = (module.multi_head_attention(x, W_qkv, W_o, n_head, mask) for module in (subject, solution))
        equal(result, right, what="multi_head_attention", whose="the solution's")
