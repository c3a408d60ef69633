"""The reference of the warm-ups: the same mathematics one number at a time, in plain loops.

Slow and hard to get wrong: no broadcasting, no reshape, no axis argument. The checks of the warm-ups
compare with it on awkward inputs (batch 2, length 7, width 15, 3 heads of 5), in double precision.
"""

import functools
import math

import numpy as np

from checker import claims

BATCH, LENGTH, WIDTH, HEADS, HEAD_DIM = 2, 7, 15, 3, 5

TOKENS = ("batch", "token", "channel")
WEIGHTS = ("batch", "query", "key")

#: Queries whose scores with the keys np.eye(3) overflow exp (row 0), are smaller than what a causal mask hides, by more
#: than exp can bear, and than -100 (row 1), or lie far below the scores of the other rows (row 2).
FAR_APART = np.array([[900.0, 990, -990], [-990, -900, 990], [1, 2, -990]]) * math.sqrt(3)

#: Sums in another order differ by 2e-14 here, also where scores are FAR_APART, in every alternative that is known; the
#: smallest mistake that is named differs by 1e-2. The bound lies between.
equal = functools.partial(claims.equal, tolerance=1e-6, whose="the right number")

#: Worked numbers are given to four decimals.
equal_to_four_decimals = functools.partial(claims.equal, tolerance=6e-5, whose="the right number")


def drawn(name, *shape):
    """Return random numbers of about unit size, another draw for every ``name``; the same on every machine.

    They are read-only: a function that changes what it is given is told so.
    """
    numbers = np.random.RandomState(list(name.encode())).standard_normal(shape)
    numbers.setflags(write=False)
    return numbers


def product(left, right):
    """Return the matrix product, in each of the leading positions of ``left``."""
    out = np.empty((*left.shape[:-1], right.shape[-1]))
    for lead in np.ndindex(left.shape[:-2]):
        columns = list(zip(*(right if right.ndim == 2 else right[lead]).tolist(), strict=True))
        for row, numbers in enumerate(left[lead].tolist()):
            out[(*lead, row)] = [sum(a * b for a, b in zip(numbers, column, strict=True)) for column in columns]
    return out


def softmax(scores):
    """Return the softmax along the last axis of scores, one of which in each row is not minus infinity."""
    out = np.empty(scores.shape)
    for lead in np.ndindex(scores.shape[:-1]):
        row = scores[lead].tolist()
        powers = [math.exp(score - max(row)) for score in row]
        out[lead] = [power / sum(powers) for power in powers]
    return out


def weights(query, key, *, scale=1.0, mask=None):
    """Return attention weights; ``mask[i][j]`` is true where query i may attend to key j."""
    scores = np.empty((*query.shape[:-1], key.shape[-2]))
    for *lead, row, column in np.ndindex(scores.shape):
        pairs = zip(query[(*lead, row)].tolist(), key[(*lead, column)].tolist(), strict=True)
        allowed = mask is None or mask[row][column]
        scores[(*lead, row, column)] = scale * sum(a * b for a, b in pairs) if allowed else -math.inf
    return softmax(scores)


def attention(query, key, value, mask=None):
    """Return what every query gathers by scaled dot-product attention."""
    return product(weights(query, key, scale=1 / math.sqrt(key.shape[-1]), mask=mask), value)


def looks_back(length):
    """Return the causal mask: row i may look at columns 0 to i."""
    return np.array([[column <= row for column in range(length)] for row in range(length)])


def multi_head_attention(x, W_qkv, W_o, n_head, mask=None):
    """Run every head on its own slice of the channels, one after the other."""
    width = x.shape[-1]
    head = width // n_head
    joined = product(x, W_qkv)
    outputs = []
    for start in range(0, width, head):
        query, key, value = (joined[..., part + start : part + start + head] for part in (0, width, 2 * width))
        outputs.append(attention(query, key, value, mask))
    merged = np.array(
        [[[number for out in outputs for number in out[b, t]] for t in range(x.shape[1])] for b in range(len(x))]
    )
    return product(merged, W_o)
