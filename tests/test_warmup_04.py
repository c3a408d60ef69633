"""Warm-up 04, splitting and merging heads: what is claimed. No MAX is needed."""

import numpy as np
import pytest

from checker.claims import about, error_of, is_value, keeps_nothing, require
from tests.references.naive import BATCH, HEAD_DIM, HEADS, LENGTH, WIDTH, drawn, equal

HEAD_AXES = ("batch", "head", "token", "channel")
PUBLISHED = ((768, 12), (1024, 16), (1280, 20), (1600, 25))  # GPT-2 small, medium, large and XL


@pytest.fixture
def x():
    return drawn("x", BATCH, LENGTH, WIDTH)


@pytest.fixture
def heads():
    return drawn("heads", BATCH, HEADS, LENGTH, HEAD_DIM)


def split(x, n_head):
    """Every number carried to its place, one by one."""
    width = x.shape[-1] // n_head
    out = np.empty((*x.shape[:-2], n_head, x.shape[-2], width))
    for *lead, token, channel in np.ndindex(x.shape):
        out[(*lead, channel // width, token, channel % width)] = x[(*lead, token, channel)]
    return out


def merged(heads):
    out = np.empty((*heads.shape[:-3], heads.shape[-2], heads.shape[-3] * heads.shape[-1]))
    for *lead, head, token, channel in np.ndindex(heads.shape):
        out[(*lead, token, head * heads.shape[-1] + channel)] = heads[(*lead, head, token, channel)]
    return out


@about("head_dim")
def test_head_dim(subject):
    """The heads of all four GPT-2s are 64 wide, and 3 heads split 15 channels into 5 each."""
    for n_embd, n_head in (*PUBLISHED, (WIDTH, HEADS), (WIDTH, 1), (WIDTH, WIDTH)):
        is_value(f"head_dim({n_embd}, {n_head})", subject.head_dim(n_embd, n_head), n_embd // n_head)


@about("head_dim")
def test_impossible_heads_are_refused(subject):
    """A number of heads below 1, or one that does not divide the width, raises ValueError."""
    for n_head in (0, -3, 4):
        error_of(f"head_dim({WIDTH}, {n_head})", lambda: subject.head_dim(WIDTH, n_head))  # noqa: B023


@about("split_heads")
def test_split_heads(subject, x):
    """Every head gets its own slice of the embedding: [batch, seq, embd] -> [batch, head, seq, head_dim]."""
    equal(subject.split_heads(x, HEADS), split(x, HEADS), HEAD_AXES, what="split_heads(x, 3)")
    keeps_nothing(lambda x: subject.split_heads(x, HEADS), x, right=lambda x: split(x, HEADS))


@about("split_heads")
def test_any_number_of_heads(subject, x):
    """One head takes the whole width, and as many heads as channels take one each."""
    for n_head in (1, 5, WIDTH):
        equal(subject.split_heads(x, n_head), split(x, n_head), HEAD_AXES, what=f"split_heads(x, {n_head})")


@about("split_heads")
def test_split_without_a_batch(subject):
    """A single sequence without a batch axis is split as well."""
    x = drawn("x", LENGTH, WIDTH)
    equal(subject.split_heads(x, HEADS), split(x, HEADS), HEAD_AXES[1:], what="split_heads(x, 3) of one sequence")


@about("split_heads")
def test_uneven_splits_are_refused(subject, x):
    """A number of heads that does not divide the width of x raises a ValueError that names both numbers."""
    for n_head in (4, 30):
        call = f"split_heads(x, {n_head}) of {WIDTH} channels"
        message = error_of(call, lambda: subject.split_heads(x, n_head))  # noqa: B023
        for number in (WIDTH, n_head):
            require(str(number) in message, f"The message of {call} is {message!r}, and must name {number}.")


@about("merge_heads")
def test_merge_heads(subject, heads):
    """The heads lie side by side again: [batch, head, seq, head_dim] -> [batch, seq, embd]."""
    equal(subject.merge_heads(heads), merged(heads), what="merge_heads(heads)")
    keeps_nothing(subject.merge_heads, heads, right=merged)


@about("merge_heads")
def test_merge_without_a_batch(subject):
    """A single sequence without a batch axis is merged as well."""
    heads = drawn("heads", HEADS, LENGTH, HEAD_DIM)
    equal(subject.merge_heads(heads), merged(heads), ("token", "channel"), what="merge_heads(heads) of one sequence")


@about("merge_heads")
def test_there_and_back(subject, x):
    """Merging undoes splitting, whatever the number of heads."""
    for n_head in (1, HEADS, WIDTH):
        back = subject.merge_heads(subject.split_heads(x, n_head))
        equal(back, drawn("x", BATCH, LENGTH, WIDTH), what=f"merge_heads(split_heads(x, {n_head}))")


@pytest.mark.drawn
@about("split_heads")
def test_other_numbers(subject, draw):
    """Random sizes work as well."""
    batch, length = draw.whole("batch", 1, 4), draw.whole("seq", 1, 9)
    n_head, width = draw.whole("n_head", 1, 9), draw.whole("head_dim", 1, 9)
    x = draw.array(batch, length, n_head * width, dtype=np.float64)
    equal(subject.split_heads(x, n_head), split(x, n_head), HEAD_AXES, what=f"split_heads(x, {n_head})")
    equal(subject.merge_heads(split(x, n_head)), x, what="merge_heads(heads)")
