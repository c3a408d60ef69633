"""Warm-up 04, splitting and merging heads: what is claimed, and the mistakes that can be named. No MAX is needed."""

import numpy as np
import pytest

from checker.claims import about, error_of, is_value, require
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
def test_head_dim(step):
    """The heads of all four GPT-2s are 64 wide, and 3 heads share 15 channels by 5."""
    for n_embd, n_head in (*PUBLISHED, (WIDTH, HEADS), (WIDTH, 1), (WIDTH, WIDTH)):
        is_value(f"head_dim({n_embd}, {n_head})", step.head_dim(n_embd, n_head), n_embd // n_head)


@about("head_dim")
def test_uneven_heads_are_refused(step):
    """A number of heads that does not divide the width is a ValueError that names both numbers."""
    for n_embd, n_head in ((768, 7), (12, 24), (1024, 24), (20, 0), (20, -4)):
        call = f"head_dim({n_embd}, {n_head})"
        message = error_of(call, lambda: step.head_dim(n_embd, n_head))  # noqa: B023 - called at once
        for number in (n_embd, n_head):
            require(str(number) in message, f"The message of {call} is {message!r}, and must name {number}.")


@about("split_heads")
def test_split_heads(step, x):
    """Every head gets its own slice of the embedding: [batch, seq, embd] -> [batch, head, seq, head_dim]."""
    equal(step.split_heads(x, HEADS), split(x, HEADS), HEAD_AXES, what="split_heads(x, 3)")


@about("split_heads")
def test_any_number_of_heads(step, x):
    """One head takes the whole width, and as many heads as channels take one each."""
    for n_head in (1, 5, WIDTH):
        equal(step.split_heads(x, n_head), split(x, n_head), HEAD_AXES, what=f"split_heads(x, {n_head})")


@about("split_heads")
def test_split_without_a_batch(step):
    """One sequence without a batch in front is split as well."""
    x = drawn("x", LENGTH, WIDTH)
    equal(step.split_heads(x, HEADS), split(x, HEADS), HEAD_AXES[1:], what="split_heads(x, 3) of one sequence")


@about("split_heads")
def test_uneven_splits_are_refused(step, x):
    """A number of heads that does not divide the width of x is a ValueError that names both numbers."""
    for n_head in (4, 30):
        call = f"split_heads(x, {n_head}) of {WIDTH} channels"
        message = error_of(call, lambda: step.split_heads(x, n_head))  # noqa: B023 - called at once
        for number in (WIDTH, n_head):
            require(str(number) in message, f"The message of {call} is {message!r}, and must name {number}.")


@about("merge_heads")
def test_merge_heads(step, heads):
    """The heads lie side by side again: [batch, head, seq, head_dim] -> [batch, seq, embd]."""
    equal(step.merge_heads(heads), merged(heads), what="merge_heads(heads)")


@about("merge_heads")
def test_merge_without_a_batch(step):
    """One sequence without a batch in front is merged as well."""
    heads = drawn("heads", HEADS, LENGTH, HEAD_DIM)
    equal(step.merge_heads(heads), merged(heads), ("token", "channel"), what="merge_heads(heads) of one sequence")


@about("merge_heads")
def test_there_and_back(step, x):
    """Merging undoes splitting, whatever the number of heads."""
    for n_head in (1, HEADS, WIDTH):
        back = step.merge_heads(step.split_heads(x, n_head))
        equal(back, drawn("x", BATCH, LENGTH, WIDTH), what=f"merge_heads(split_heads(x, {n_head}))")


REFUSE = "if n_head < 1 or n_embd % n_head:"
MESSAGE = 'f"n_embd = {n_embd} cannot be shared evenly by n_head = {n_head} heads"'
SHARE = "return n_embd // n_head"
SPLIT = """\
    heads = x.reshape(*x.shape[:-1], n_head, width)
    return np.swapaxes(heads, -3, -2)"""
MERGE = """\
    x = np.swapaxes(heads, -3, -2)
    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])"""

MISTAKES = {
    "A width that the heads cannot share is accepted: test the remainder of n_embd / n_head.": {
        REFUSE: "if n_head < 1:"
    },
    "The remainder is taken the wrong way round: it is n_embd % n_head.": {REFUSE: "if n_head < 1 or n_head % n_embd:"},
    "No heads at all end in a ZeroDivisionError; refuse n_head below 1 first.": {REFUSE: "if n_embd % n_head:"},
    "Uneven heads are an AssertionError; raise ValueError, since `python -O` skips assertions.": {
        f"raise ValueError({MESSAGE})": f"raise AssertionError({MESSAGE})"
    },
    "The message about uneven heads does not say which numbers were given.": {MESSAGE: '"n_head must divide n_embd"'},
    "head_dim is a float; use whole-number division, //.": {SHARE: "return n_embd / n_head"},
    "head_dim is always 64; it must follow n_embd and n_head.": {SHARE: "return 64"},
    "The heads are cut by reshape alone: [batch, head, seq, head_dim] needs reshape to [batch, seq, head, head_dim], "
    "then a transpose.": {SPLIT: "    return x.reshape(*x.shape[:-2], n_head, x.shape[-2], width)"},
    "The embedding is cut into (head_dim, head); it must be (head, head_dim), so that a head's channels lie together.": {
        SPLIT: "    heads = x.reshape(*x.shape[:-1], width, n_head)\n    return np.moveaxis(heads, -1, -3)"
    },
    "The heads are split but not brought in front of seq: a transpose is missing.": {
        SPLIT: "    return x.reshape(*x.shape[:-1], n_head, width)"
    },
    "seq has ended up last: swap head with seq, not with head_dim.": {
        SPLIT: "    heads = x.reshape(*x.shape[:-1], n_head, width)\n    return np.moveaxis(heads, -3, -1)"
    },
    "head is in front of the batch: it belongs between batch and seq.": {
        SPLIT: "    return np.stack(np.split(x, n_head, axis=-1))"
    },
    "The width of a head is divided here, so uneven heads end in an error of NumPy's; ask head_dim for it.": {
        "width = head_dim(x.shape[-1], n_head)": "width = x.shape[-1] // n_head"
    },
    "The heads come in reverse order: head 0 takes the first channels.": {
        SPLIT: SPLIT.replace("(heads, -3, -2)", "(heads[..., ::-1, :], -3, -2)")
    },
    "The batch is taken for granted: axes 1 and 2 are others when there is none. Count the axes from the end.": {
        SPLIT: "    heads = x.reshape(*x.shape[:-1], n_head, width)\n    return np.swapaxes(heads, 1, 2)"
    },
    "The heads are merged without being transposed back: bring seq in front of head before the reshape.": {
        MERGE: "    return heads.reshape(*heads.shape[:-3], heads.shape[-2], heads.shape[-3] * heads.shape[-1])"
    },
    "The heads' channels are interleaved when merged: transpose head and seq, not head and channel.": {
        MERGE: "    x = np.moveaxis(heads, -3, -1)\n    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])"
    },
    "The heads are transposed back but still apart: join the last two axes into one.": {
        MERGE: "    return np.swapaxes(heads, -3, -2)"
    },
    "The heads are summed; they must lie side by side.": {MERGE: "    return heads.sum(axis=-3)"},
    "The heads are averaged; they must lie side by side.": {MERGE: "    return heads.mean(axis=-3)"},
}

ALTERNATIVES = {
    "asked the other way round": {REFUSE: "if n_head <= 0 or n_head * (n_embd // n_head) != n_embd:"},
    "divmod": {
        f"    {REFUSE}\n": "    width, rest = divmod(n_embd, n_head) if n_head > 0 else (0, 1)\n    if rest:\n",
        SHARE: "return width",
    },
    "the last width guessed by reshape": {
        "x.reshape(*x.shape[:-1], n_head, width)": "x.reshape((*x.shape[:-1], n_head, -1))"
    },
    "moveaxis": {
        SPLIT: "    return np.moveaxis(x.reshape(*x.shape[:-1], n_head, width), -2, -3)",
        MERGE: "    x = np.moveaxis(heads, -3, -2)\n    return x.reshape((*x.shape[:-2], -1))",
    },
    "slices stacked and joined": {
        SPLIT: "    return np.stack([x[..., at * width : (at + 1) * width] for at in range(n_head)], axis=-3)",
        MERGE: "    return np.concatenate([heads[..., head, :, :] for head in range(heads.shape[-3])], axis=-1)",
    },
    "np.split": {SPLIT: "    return np.stack(np.split(x, n_head, axis=-1), axis=-3)"},
    "einsum": {
        SPLIT: '    return np.einsum("...shd->...hsd", x.reshape(*x.shape[:-1], n_head, width))',
        MERGE: '    x = np.einsum("...hsd->...shd", heads)\n    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])',
    },
    "a batch added and taken away": {
        SPLIT: "    flat = x.reshape(-1, x.shape[-2], n_head, width).transpose(0, 2, 1, 3)\n"
        "    return flat.reshape(*x.shape[:-2], n_head, x.shape[-2], width)"
    },
}
