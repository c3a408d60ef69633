"""Step 02, the causal mask: judged by its effect, not by its numbers. Any large negative number blocks.

The effect of a mask is what a softmax makes of some scores when the mask is added to them: a blocked
column weighs nothing, and the others share the weight as if the blocked ones were not there.
"""

import inspect
import re

import numpy as np
import pytest
from max.driver import CPU
from max.dtype import DType
from max.experimental.nn import Module
from max.experimental.tensor import TensorType, default_dtype

from checker.claims import about, equal, require
from checker.claims.modules import compiled, run
from checker.max_adapter.runtime import open_device

LENGTHS = (5, 2, 1)
LONG = 300  # more rows than int8 and uint8 can count
COUNTS = re.compile(r"\b(?:range|cumsum)\b")  # in a graph, the operations that count


def scores(length):
    """Random attention scores, so small that every column that is looked at has a weight to be seen."""
    return np.random.RandomState(101 * length).uniform(-3, 3, (length, length)).astype(np.float32)


def softmax(values):
    with np.errstate(invalid="ignore", over="ignore"):
        powers = np.exp(values - values.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)


def expected_weights(length):
    """Every row shares its weight among the columns that it may look at."""
    values = scores(length).astype(np.float64)
    weights = np.zeros_like(values)
    for row in range(length):
        weights[row, : row + 1] = softmax(values[row : row + 1, : row + 1])[0]
    return weights.astype(np.float32)


def weights_under(mask):
    with np.errstate(invalid="ignore"):
        return softmax(scores(len(mask)).astype(np.float64) + mask).astype(np.float32)


def causal_mask(subject, length, **options):
    """The learner's mask. The source tutorial's takes a second number, of earlier tokens: there are none."""
    parameters = inspect.signature(subject.causal_mask).parameters.values()
    positional = [each for each in parameters if each.kind is not each.KEYWORD_ONLY]
    return subject.causal_mask(length, *[0] * (len(positional) - 1), **options)


def mask_of(subject, length, dtype=DType.float32):
    return run(lambda: causal_mask(subject, length, dtype=dtype, device=CPU()))


@about("causal_mask")
def test_shape(subject):
    """The mask is [seq, seq]."""
    for length in LENGTHS:
        shape = [int(size) for size in mask_of(subject, length).shape]
        wanted = [length, length]
        require(shape == wanted, f"The mask of {length} tokens has the shape {shape}, and must have {wanted}.")


@about("causal_mask")
def test_dtype_and_device(subject):
    """It has the dtype and the device that were asked for, those of the scores, not MAX's defaults."""
    mask = mask_of(subject, 11, DType.float64)  # a size that no other claim asks for
    require(mask.dtype == DType.float64, f"dtype=float64 was asked for, and the mask is {mask.dtype.name}.")
    for dtype in (DType.float32, DType.float64):
        mask, kept = mask_of(subject, 11, dtype), "the mask of an earlier call with this size comes back"
        require(mask.dtype == dtype, f"dtype={dtype.name} was asked for, and {kept}: {mask.dtype.name}.")
    try:
        causal_mask(subject, 2, dtype=DType.float32, device=object())
    except NotImplementedError:
        raise
    except Exception:  # where there is one device, another can only be seen to be refused
        return
    require(False, "The device that was asked for is not used. On a GPU, the scores would be elsewhere.")


@about("causal_mask")
def test_no_nan(subject):
    """It has no NaN, which would spread to every sum."""
    for length in LENGTHS:
        wrong = int(np.isnan(np.from_dlpack(mask_of(subject, length))).sum())
        sentence = f"In the mask of {length} tokens, {wrong} of {length * length} values are NaN."
        require(not wrong, sentence)


@about("causal_mask")
def test_no_token_sees_the_future(subject):
    """Every token looks at itself and at those before it, and at none after it."""
    for length in LENGTHS:
        mask = np.from_dlpack(mask_of(subject, length))
        what = f"softmax(scores + mask) of {length} tokens"
        equal(weights_under(mask), expected_weights(length), what=what, whose="the right weight")
    shares = np.tri(LONG, dtype=np.float32) / np.arange(1, LONG + 1, dtype=np.float32)[:, None]
    mask = np.from_dlpack(mask_of(subject, LONG))
    equal(softmax(mask), shares, what=f"softmax(mask) of {LONG} tokens", whose="the right weight")


@about("causal_mask")
def test_counts(subject):
    """A long mask is right in bfloat16, too, which GPUs use: it has no 257, so no index may be counted in it."""

    class Masked(Module):
        def forward(self, scores):
            return causal_mask(subject, scores.shape[0], dtype=DType.bfloat16, device=CPU())

    with default_dtype(DType.bfloat16):
        graph = str(Masked().trace(TensorType(DType.bfloat16, ["seq", "seq"], device=CPU())))
    counted = [line for line in graph.splitlines() if COUNTS.search(line) and "bf16" in line]
    sentence = (
        "Rows or columns are counted in the scores' dtype or in MAX's default, which are bfloat16 on a GPU: it has no "
        "257. Count with dtype=DType.int64."
    )
    require(not counted, sentence)


@about("causal_mask")
def test_large_scores(subject):
    """A blocked token gets no weight, even if its score is 1,000 larger, as outliers in a trained model can be."""
    values = scores(5) + np.triu(np.full((5, 5), 1000), 1)
    weights = softmax(values.astype(np.float64) + np.from_dlpack(mask_of(subject, 5)))
    shares = softmax(np.where(np.tri(5, dtype=bool), values, -np.inf))
    # A mask of -1e4 leaves at most exp(-8994) = 0 to a blocked column, and -100 all of the weight: 0 and 1.
    what = "the softmax of scores that differ by 1000, plus the mask of 5 tokens"
    equal(weights.astype(np.float32), shares.astype(np.float32), what=what, whose="the right weight")


@pytest.mark.drawn
@about("causal_mask")
def test_other_numbers(subject, draw):
    """New random lengths work as well."""
    length = draw.whole("seq", 1, 20)
    mask, what = np.from_dlpack(mask_of(subject, length)), f"softmax(scores + mask) of {length} tokens"
    equal(weights_under(mask), expected_weights(length), what=what, whose="the right weight")


@pytest.mark.compiled
@about("compiled")
def test_compiled(subject, device):
    """It can be compiled once for every length: the number of tokens may be symbolic."""

    class Masked(Module):
        def forward(self, scores):
            return scores + causal_mask(subject, scores.shape[0], dtype=scores.dtype, device=open_device(device))

    graph = compiled(Masked(), ["seq", "seq"], device=device)
    for length in LENGTHS:
        mask = np.from_dlpack(graph(np.zeros((length, length), np.float32)))
        what = f"softmax(scores + the compiled mask) of {length} tokens"
        equal(weights_under(mask), expected_weights(length), what=what, whose="the right weight")
