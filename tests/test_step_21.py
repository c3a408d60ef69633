"""Step 21, a kernel of your own: what is claimed.

The file is compiled into a library, without MAX, and its functions are called on arrays (``tests/kernels/step_21``).
They are compared with NumPy's float64, and the whole with what Hugging Face's ``eager_attention_forward`` returns:
short, longer than a tile, with tokens of the past, and padded on the left. Last, MAX compiles it as an operation.
"""

import numpy as np
import pytest
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import TensorType

from checker.claims import about, equal, for_each, require
from checker.claims.modules import compiled

D = 6
NUMPY = "NumPy's in float64"
LOWEST = float(np.finfo(np.float32).min)
HEADS, HEAD_DIM = 3, 5  # of the reference


def numbers(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def weights_of(scores):
    """Softmax in float64, all at once."""
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def looked_up(query, keys, values):
    """What one query finds among keys and values, in float64, all at once."""
    return weights_of(keys.astype(float) @ query.astype(float) / np.sqrt(len(query))) @ values.astype(float)


def single(array):
    return np.asarray(array, np.float32)


@about("online_softmax")
def test_first_scores_of_a_row(subject):
    """The first scores of a row become exp(score - row_max), and row_sum is their sum."""
    scores = single([1, 3, 2, 0, 3.5])
    weights, maximum, row_sum, _ = subject.online_softmax(scores, LOWEST, 0)
    equal(single(maximum), single(3.5), what="the maximum", whose=NUMPY)
    equal(weights, single(np.exp(scores - 3.5)), ("score",), what="the weights", whose=NUMPY)
    equal(single(row_sum), single(np.exp(scores - 3.5).sum()), what="row_sum", whose=NUMPY)


@about("online_softmax")
def test_more_scores_of_a_row(subject):
    """More scores update row_max and row_sum; the factor rescales what was added before."""

    def right(case):
        scores, before, sum_before = case
        new = max(before, *scores)
        powers = np.exp(np.array(scores) - new)
        weights, maximum, row_sum, factor = subject.online_softmax(single(scores), before, sum_before)
        equal(single(maximum), single(new), what="the maximum", whose=NUMPY)
        equal(single(factor), single(np.exp(before - new)), what="the factor", whose=NUMPY)
        equal(single(row_sum), single(sum_before * np.exp(before - new) + powers.sum()), what="row_sum", whose=NUMPY)
        equal(weights, single(powers), ("score",), what="the weights", whose=NUMPY)

    for_each((([2, 5, 1], 3, 1.6), ([2, 0.5], 3, 2.5), ([2, 3], 3, 1.5)), right)


@about("online_softmax")
def test_large_scores_do_not_overflow(subject):
    """Scores of 1000 and -1000 do not overflow: exp never gets a number above 0."""
    weights, _, row_sum, factor = subject.online_softmax(single([1000, 999, -1000]), 998, 1)
    equal(weights, single([1, np.exp(-1), 0]), ("score",), what="the weights", whose=NUMPY)
    equal(single(row_sum), single(1 + np.exp(-1) + np.exp(-2)), what="row_sum", whose=NUMPY)
    equal(single(factor), single(np.exp(-2)), what="the factor", whose=NUMPY)


@about("attend_block")
def test_one_block(subject):
    """After one block, output / row_sum is the attention over its keys."""
    query, keys, values = 2 * numbers(1, D), numbers(2, 9, D), numbers(3, 9, D)
    output, _, row_sum = subject.attend_block(query, keys, values, LOWEST, 0, np.zeros(D))
    equal(
        single(output / row_sum),
        single(looked_up(query, keys, values)),
        ("channel",),
        what="output / row_sum",
        whose=NUMPY,
    )


@about("attend_block")
def test_block_after_block(subject):
    """After several blocks, output / row_sum is the attention over all their keys at once."""
    query, keys, values = 3 * numbers(4, D), numbers(5, 40, D), numbers(6, 40, D)
    output, maximum, row_sum = np.zeros(D), LOWEST, 0
    for first, last in ((0, 3), (3, 4), (4, 36), (36, 40)):
        output, maximum, row_sum = subject.attend_block(
            query, keys[first:last], values[first:last], maximum, row_sum, output
        )
    equal(
        single(output / row_sum),
        single(looked_up(query, keys, values)),
        ("channel",),
        what="output / row_sum",
        whose=NUMPY,
    )


@about("attend_block")
def test_scores_far_below_0(subject):
    """Scores around -200 get the same weights as scores around 0: only the distance from the largest matters."""
    query, keys, values = numbers(31, D), numbers(32, 9, D), numbers(33, 9, D)
    keys -= 200 * np.sqrt(single(D)) * query / (query @ query)
    output, _, row_sum = subject.attend_block(query, keys, values, LOWEST, 0, np.zeros(D))
    right = single(looked_up(query, keys, values))
    equal(single(output / row_sum), right, ("channel",), what="output / row_sum", tolerance=1e-3, whose=NUMPY)


def tile(query, key, value, position, start):
    rows = [
        looked_up(vector, key[start : position + row + 1], value[start : position + row + 1])
        if position + row >= start
        else np.zeros(len(vector))
        for row, vector in enumerate(query)
    ]
    return single(rows)


def tiles(subject, query, key, value, places):
    """Refuse unless a tile of queries is right at all places, which are pairs of position and start."""

    def right(place):
        result, what = subject.attend_tile(query, key, value, *place), "attend_tile(…) at position {}, from key {} on"
        equal(result, tile(query, key, value, *place), ("row", "channel"), what=what.format(*place), whose=NUMPY)

    for_each(places, right)


@about("attend_tile")
def test_a_tile_at_the_beginning(subject):
    """The first rows look at the keys up to their own: row 0 at one, row 1 at two."""
    tiles(subject, numbers(7, 5, D), numbers(8, 12, D), numbers(9, 12, D), [(0, 0)])


@about("attend_tile")
def test_a_tile_further_on(subject):
    """Later rows look at several blocks of keys, the last of which they see in part."""
    tiles(subject, 2 * numbers(10, 16, D), numbers(11, 90, D), numbers(12, 90, D), [(20, 0), (57, 0), (64, 0)])


@about("attend_tile")
def test_a_row_alone(subject):
    """A single row looks at its own key too, even if a block begins with it; at the very start, at no other."""
    tiles(subject, 2 * numbers(37, 1, D), numbers(38, 70, D), numbers(39, 70, D), [(0, 0), (32, 0), (64, 0), (40, 8)])


@about("attend_tile")
def test_a_tile_of_a_long_text(subject):
    """Rows at positions 300 and 1,008 look at up to 1,024 keys of 64 channels, as many as GPT-2 small has."""
    query, key, value = numbers(34, 16, 64), numbers(35, 1024, 64), numbers(36, 1024, 64)
    tiles(subject, query, key, value, [(300, 0), (1008, 0), (1008, 777)])


@about("attend_tile")
def test_keys_before_the_start_are_not_looked_at(subject):
    """Keys before the start do not count, and a row that has no key at all becomes zeros."""
    tiles(subject, 2 * numbers(13, 7, D), numbers(14, 50, D), numbers(15, 50, D), [(40, 33), (10, 13)])


@about("attend_tile")
def test_what_is_above_the_diagonal_is_not_read(subject):
    """Keys and values after the last row may be NaN: they are never read."""
    query, key, value = numbers(16, 4, D), numbers(17, 70, D), numbers(18, 70, D)
    expected = tile(query, key, value, 30, 0)
    key[34:] = value[34:] = np.nan
    equal(subject.attend_tile(query, key, value, 30, 0), expected, ("row", "channel"), whose=NUMPY)


def attend(subject, reference, case):
    return subject.causal_attention(*(reference[f"{case}_{name}"] for name in ("query", "key", "value", "starts")))


@about("attend_tile")
def test_causal_attention(subject, reference):
    """Given query, key and value, it returns Hugging Face's output, with the heads side by side."""
    equal(attend(subject, reference, "short"), reference["short_output"], what="causal_attention(…)")


@about("attend_tile")
def test_longer_than_a_tile(subject, reference):
    """75 tokens, several tiles of queries and of keys, work, too."""
    equal(attend(subject, reference, "long"), reference["long_output"], what="causal_attention(…) of 75 tokens")


@about("attend_tile")
def test_with_a_past(subject, reference):
    """After past tokens, whose keys and values are kept, it goes on where they end."""
    equal(attend(subject, reference, "past"), reference["past_output"], what="causal_attention(…) after a past")


@about("attend_tile")
def test_padded_on_the_left(subject, reference):
    """Each sequence of a batch begins at its own start; what comes before it is zeros."""
    equal(attend(subject, reference, "padded"), reference["padded_output"], what="causal_attention(…), padded")


@about("attend_tile")
def test_the_future_cannot_change_the_past(subject, reference):
    """Changing the last key and value leaves every earlier row unchanged."""
    query, key, value, starts = (reference[f"long_{name}"].copy() for name in ("query", "key", "value", "starts"))
    before = subject.causal_attention(query, key, value, starts)
    key[:, :, -1] += 1
    value[:, :, -1] -= 1
    after = subject.causal_attention(query, key, value, starts)
    equal(after[:, :-1], before[:, :-1], what="the rows before the changed token", whose="what it was before")
    require(bool(np.abs(after[:, -1] - before[:, -1]).max() > 1e-3), "The last row does not depend on the last token.")


@about("attend_tile")
def test_large_queries_do_not_overflow(subject, reference):
    """Scores of several hundred do not overflow: every row is finite and right."""
    query, key, value = 80 * numbers(19, 1, 1, 70, D), 4 * numbers(20, 1, 1, 70, D), numbers(21, 1, 1, 70, D)
    expected = tile(query[0, 0], key[0, 0], value[0, 0], 0, 0)[None]
    equal(
        subject.causal_attention(query, key, value, [0]), expected, what="causal_attention(80 * query, …)", whose=NUMPY
    )


@about("attend_tile")
def test_an_empty_batch(subject):
    """A batch without sequences has an empty output."""
    nothing = numbers(22, 0, HEADS, 4, HEAD_DIM)
    expected = np.zeros((0, 4, HEADS * HEAD_DIM), np.float32)
    equal(subject.causal_attention(nothing, nothing, nothing, []), expected, what="causal_attention(…)", whose=NUMPY)


@pytest.mark.drawn
@about("attend_tile")
def test_other_numbers(subject, solution, draw):
    """Random sizes and numbers work as well."""
    batch, heads, d = draw.whole("batch", 1, 3), draw.whole("heads", 1, 4), draw.whole("d", 1, 40)
    seq, past = draw.whole("seq", 1, 100), draw.whole("past", 0, 60)
    query = draw.array(batch, heads, seq, d)
    key, value = draw.array(batch, heads, past + seq, d), draw.array(batch, heads, past + seq, d)
    starts = [draw.whole(f"starts[{row}]", 0, past + seq - 1) for row in range(batch)]
    result, right = (module.causal_attention(query, key, value, starts) for module in (subject, solution))
    equal(result, right, what="causal_attention(…)", whose="NumPy's")


class Operation(Module):
    """The kernel ``name`` as an operation of MAX, which reads it from ``folder``, in a module that is nothing else."""

    def __init__(self, kernel, name, folder):
        self.name, self.folder = name, kernel.operation(folder / name)

    def forward(self, *inputs):
        query = inputs[0]
        shape = [query.shape[0], query.shape[2], HEADS * HEAD_DIM]
        result = TensorType(query.dtype, shape, device=query.device)
        (output,) = F.custom(self.name, query.device, inputs, [result], custom_extensions=self.folder)
        return output


@pytest.mark.compiled
@about("compiled")
def test_compiled(subject, reference, tmp_path):
    """As an operation of MAX, with any batch and length, it returns the same numbers."""
    operation = Operation(subject, "causal_attention", tmp_path)
    dtypes = [DType.float32] * 3 + [DType.int32]
    names = ("seq", "total", "total")
    shapes = [["batch", HEADS, name, HEAD_DIM] for name in names] + [["batch"]]
    graph = compiled(operation, *shapes, device="cpu", dtype=dtypes)
    for case in ("short", "past"):
        arrays = (reference[f"{case}_{name}"] for name in ("query", "key", "value", "starts"))
        equal(graph(*arrays), reference[f"{case}_output"], what="the operation of MAX")
