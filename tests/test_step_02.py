"""Step 02, the causal mask: judged by its effect, not by its numbers. Any large negative number blocks.

The effect of a mask is what a softmax makes of some scores when the mask is added to them: a blocked
column weighs nothing, and the others share the weight as if the blocked ones were not there.
"""

import numpy as np
import pytest
from max.driver import CPU
from max.dtype import DType
from max.experimental.nn import Module

from checker.claims import about, equal, require
from checker.claims.modules import compiled, run
from checker.max_adapter.runtime import open_device

LENGTHS = (5, 2, 1)
CACHED = (4, 1, 0)


def scores(rows, columns):
    """Attention scores as they come: up to about 20, negative ones too."""
    return np.random.RandomState(rows + 100 * columns).uniform(-20, 20, (rows, columns)).astype(np.float32)


def softmax(values):
    with np.errstate(invalid="ignore", over="ignore"):
        powers = np.exp(values - values.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)


def expected_weights(rows, cached):
    """Every row shares its weight among the columns that it may look at."""
    values = scores(rows, rows + cached).astype(np.float64)
    weights = np.zeros_like(values)
    for row in range(rows):
        weights[row, : cached + row + 1] = softmax(values[row : row + 1, : cached + row + 1])[0]
    return weights.astype(np.float32)


def weights_under(mask):
    with np.errstate(invalid="ignore"):
        return softmax(scores(*mask.shape).astype(np.float64) + mask).astype(np.float32)


def mask_of(step, rows, cached=0, dtype=DType.float32):
    return run(lambda: step.causal_mask(rows, cached, dtype=dtype, device=CPU()))


@about("causal_mask")
def test_shape(step):
    """The mask is [seq, seq + num_tokens]."""
    for rows in LENGTHS:
        for cached in CACHED:
            shape = [int(size) for size in mask_of(step, rows, cached).shape]
            wanted = [rows, rows + cached]
            require(shape == wanted, f"causal_mask({rows}, {cached}) has the shape {shape}, and must have {wanted}.")


@about("causal_mask")
def test_dtype_and_device(step):
    """It has the dtype and the device that were asked for."""
    for dtype in (DType.float32, DType.float64):
        mask = mask_of(step, 2, dtype=dtype)
        require(mask.dtype == dtype, f"dtype={dtype.name} was asked for, and the mask is {mask.dtype.name}.")
        require(mask.device == CPU(), f"device=CPU() was asked for, and the mask is on {mask.device}.")


@about("causal_mask")
def test_no_nan(step):
    """It has no NaN, which would spread to everything that it is added to."""
    for rows in LENGTHS:
        wrong = int(np.isnan(np.from_dlpack(mask_of(step, rows))).sum())
        sentence = f"causal_mask({rows}, 0) has {wrong} values of {rows * rows} that are not a number."
        require(not wrong, sentence)


@about("causal_mask")
def test_no_token_sees_the_future(step):
    """Without earlier tokens, every token looks at itself and at those before it."""
    for rows in LENGTHS:
        equal(
            weights_under(np.from_dlpack(mask_of(step, rows))),
            expected_weights(rows, 0),
            what=f"softmax(scores + causal_mask({rows}, 0))",
            whose="the right weight",
        )


@about("causal_mask")
def test_earlier_tokens_are_seen(step):
    """With num_tokens earlier tokens in front, every row looks at all of those as well."""
    for rows in LENGTHS:
        for cached in CACHED:
            mask = np.from_dlpack(mask_of(step, rows, cached))
            equal(
                weights_under(mask),
                expected_weights(rows, cached),
                what=f"softmax(scores + causal_mask({rows}, {cached}))",
                whose="the right weight",
            )


@pytest.mark.compiled
@about("compiled")
def test_compiled(step, device):
    """It can be compiled once for every length: the number of rows may be symbolic."""

    class Masked(Module):
        def forward(self, scores):
            return scores + step.causal_mask(scores.shape[0], 0, dtype=scores.dtype, device=open_device(device))

    graph = compiled(Masked(), ["seq", "seq"], device=device)
    for rows in LENGTHS:
        zeros = np.zeros((rows, rows), np.float32)
        equal(
            weights_under(np.from_dlpack(graph(zeros))),
            expected_weights(rows, 0),
            what=f"the compiled mask of {rows} rows",
            whose="the right weight",
        )


SHAPE = "[Dim(sequence_length), Dim(sequence_length) + num_tokens]"
BAND = "F.band_part(mask, num_lower=None, num_upper=num_tokens, exclude=True)"

MISTAKES = {
    "Nothing is blocked: the mask is zero everywhere.": {'float("-inf")': "0.0"},
    "Zeros are multiplied with infinity, or infinity is taken from infinity, which gives NaN; broadcast minus infinity, then let band_part put zeros into it.": {
        'float("-inf")': "1.0",
        BAND: BAND + ' * float("-inf")',
    },
    "Everything is blocked, so the softmax has nothing to share the weight among: keep only what is right of the diagonal.": {
        BAND: "mask"
    },
    "The past is blocked and the future is open: band_part keeps the wrong part; exclude=True keeps what is outside the band.": {
        ", exclude=True)": ", exclude=False)"
    },
    "The mask is transposed: it blocks what is left of the diagonal, not what is right of it.": {
        "num_lower=None, num_upper=num_tokens": "num_lower=0, num_upper=None"
    },
    "Every token also sees the one right after it: the diagonal is off by one.": {
        "num_upper=num_tokens": "num_upper=num_tokens + 1"
    },
    "Every token sees itself alone: the past is blocked too, so num_lower must be None, which is all of it.": {
        "num_lower=None": "num_lower=0"
    },
    "No token sees itself: the diagonal is blocked too.": {
        BAND: "F.band_part(F.broadcast_to(mask[:1, :1], [Dim(sequence_length) + 1, Dim(sequence_length) + num_tokens + 1]), "
        "num_lower=None, num_upper=num_tokens, exclude=True)[:-1, 1:]"
    },
    "The earlier tokens are not counted: row i stands at position num_tokens + i, so the band is num_tokens wider.": {
        "num_upper=num_tokens": "num_upper=0"
    },
    "The mask is square: there are num_tokens columns more than rows.": {
        SHAPE: "[Dim(sequence_length), Dim(sequence_length)]"
    },
    "Rows and columns are swapped in the shape: it is [seq, seq + num_tokens].": {
        SHAPE: "[Dim(sequence_length) + num_tokens, Dim(sequence_length)]"
    },
    "Blocked tokens still get weight: the mask is added to the scores, so it needs 0 and minus infinity, not 1 and 0 or -1.": {
        'float("-inf")': "-1.0"
    },
    "Plus infinity instead of minus: what should be blocked wins the softmax.": {'float("-inf")': 'float("inf")'},
    "The dtype that was asked for is ignored: the mask is always float32.": {"dtype=dtype": "dtype=DType.float32"},
}

ALTERNATIVES = {
    "-1e9": {'float("-inf")': "-1e9"},
    "-1e5": {'float("-inf")': "-1e5"},
    "the lowest float32": {'float("-inf")': "-3.4e38"},
    "Tensor.full": {
        '    mask = Tensor(float("-inf"), dtype=dtype, device=device)\n': "",
        f"F.broadcast_to(mask, {SHAPE})": f'F.broadcast_to(Tensor.full([1, 1], float("-inf"), dtype=dtype, device=device), {SHAPE})',
    },
    "positions compared": {
        f"return {BAND}": "size = Dim(sequence_length) + num_tokens\n"
        "    ones = F.broadcast_to(Tensor(1.0, dtype=dtype, device=device), [Dim(sequence_length), size])\n"
        "    past = F.band_part(ones, num_lower=None, num_upper=num_tokens)\n"
        "    return F.where(past > 0, past - 1, mask)"
    },
    "infinity times the band": {
        'float("-inf")': "1.0",
        f"return {BAND}": f"return -1e9 * {BAND}",
    },
}
