"""Attention in Mojo against NumPy in double precision: every length, past tokens, padding, batches and odd sizes.

MAX compiles for over a minute for it, so it runs by night. By day, ``test_option.py`` compares what models write.
"""

import numpy as np
import pytest

pytestmark = pytest.mark.nightly

SHAPES = {(12, 64): "GPT-2's heads", (3, 5): "heads that no register divides", (2, 24): "whole registers and a rest"}
LENGTHS = (1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 47, 48, 49, 64, 65, 97, 128, 200, 333, 513, 1024)


def wanted(query, key, value, starts):
    """Compute attention as the formula says; a query with no key to look at gets zeros."""
    query, key, value = (array.astype(np.float64) for array in (query, key, value))
    seq, total = query.shape[2], key.shape[2]
    positions, places = np.arange(total - seq, total)[:, None], np.arange(total)
    visible = (places <= positions) & (places >= starts[:, None, None, None])
    scores = np.where(visible, query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]), -np.inf)
    weights = np.exp(scores - np.where(visible.any(-1, keepdims=True), scores.max(-1, keepdims=True), 0))
    sums = weights.sum(-1, keepdims=True)
    result = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0) @ value
    return merged(result)


def merged(heads):  # [batch, head, seq, depth] -> [batch, seq, head * depth]
    return heads.transpose(0, 2, 1, 3).reshape(len(heads), heads.shape[2], -1)


def joined(*arrays):
    """Put queries, keys and values side by side, as ``c_attn`` returns them."""
    return np.concatenate([merged(array) for array in arrays], axis=-1)


FEW_HEADS = (2, 24)  # fewer than two for each core, so that several cores share one
FORMS = [*(("apart", shape) for shape in SHAPES), ("joined", (12, 64)), ("cached", (12, 64)), ("cached", FEW_HEADS)]


@pytest.fixture(scope="module")
def compiled():
    """Every form of the operation for every shape of heads, as functions of arrays: one graph, compiled once."""
    from max.dtype import DType
    from max.experimental.nn import Module
    from max.experimental.tensor import Tensor
    from max.graph import BufferType, DeviceRef, TensorType

    from checker.max_adapter.runtime import prepare
    from play.kernels.operations import cached_attention, causal_attention, joined_attention, loaded

    prepare()
    ref, float32, int32 = DeviceRef.CPU(), DType.float32, DType.int32

    def types_of(number, name, shape):
        batch, seq, total, slots = (f"{size}_{number}" for size in ("batch", "seq", "total", "slots"))
        (head, depth), past = shape, [TensorType(int32, [1], ref)]
        starts = TensorType(int32, [batch], ref)
        together = TensorType(float32, [batch, seq, 3 * head * depth], ref)
        buffer = BufferType(float32, [batch, head, slots, depth], ref)
        apart = [TensorType(float32, [batch, head, axis, depth], ref) for axis in (seq, total, total)]
        return {
            "apart": [*apart, starts],
            "joined": [together, starts],
            "cached": [together, buffer, buffer, starts, *past],
        }[name]

    def run(name, shape, inputs):
        if name == "apart":
            return causal_attention(*inputs)
        return {"joined": joined_attention, "cached": cached_attention}[name](*inputs, n_head=shape[0])

    types = [types_of(number, *form) for number, form in enumerate(FORMS)]
    ends = np.cumsum([len(some) for some in types])

    class Forms(Module):
        def forward(self, *inputs):
            parts = (inputs[end - len(some) : end] for some, end in zip(types, ends, strict=True))
            return tuple(run(*form, part) for form, part in zip(FORMS, parts, strict=True))

    with loaded():
        function = Forms().compile(*(one for some in types for one in some))

    def unused(type):
        """Make the smallest input, for the forms that are not asked for."""
        shape = [int(size) if str(size).isdigit() else 1 for size in type.shape]
        return Tensor.from_dlpack(np.zeros(shape, type.dtype.to_numpy()))

    def form(name, shape):
        wanted = FORMS.index((name, shape))

        def call(*arrays):
            inputs = [[unused(one) for one in some] for some in types]
            inputs[wanted] = [Tensor.from_dlpack(array) for array in arrays]
            return np.from_dlpack(function(*(one for some in inputs for one in some))[wanted])

        return call

    return form


def numbers(generator, *shape):
    return generator.standard_normal(shape).astype(np.float32)


def heads(seed, batch, shape, seq, total):
    generator = np.random.default_rng(seed)
    head, depth = shape
    return [numbers(generator, batch, head, length, depth) for length in (seq, total, total)]


@pytest.mark.parametrize("length", LENGTHS)
def test_every_length(compiled, length):
    arrays = heads(length, 1, (12, 64), length, length)
    starts = np.zeros(1, np.int32)
    found = compiled("joined", (12, 64))(joined(*arrays), starts)
    np.testing.assert_allclose(found, wanted(*arrays, starts), rtol=0, atol=2e-6)


@pytest.mark.parametrize("shape", SHAPES, ids=SHAPES.get)
@pytest.mark.parametrize("seq", [1, 3, 8, 9, 40, 130])
@pytest.mark.parametrize("past", [0, 1, 63, 200])
def test_new_tokens_after_past_ones_in_a_batch_with_padding(compiled, shape, seq, past):
    total = past + seq
    arrays = heads(seq, 3, shape, seq, total)
    starts = np.array([0, total // 2, total - 1], np.int32)
    found = compiled("apart", shape)(*arrays, starts)
    np.testing.assert_allclose(found, wanted(*arrays, starts), rtol=0, atol=2e-6)


@pytest.mark.parametrize("seq", [1, 8, 20, 70])
def test_a_query_that_may_look_at_no_key_gets_zeros(compiled, seq):
    arrays = heads(0, 2, (12, 64), seq, seq)
    starts = np.array([seq, seq // 2], np.int32)
    found = compiled("apart", (12, 64))(*arrays, starts)
    assert not found[0].any()
    assert not found[1, : seq // 2].any()
    np.testing.assert_allclose(found, wanted(*arrays, starts), rtol=0, atol=2e-6)


@pytest.mark.parametrize("seq", [6, 40, 100])
def test_the_future_and_the_padding_change_nothing_whatever_they_are(compiled, seq):
    arrays = heads(1, 1, (12, 64), seq, seq)
    starts = np.array([2], np.int32)
    run = compiled("apart", (12, 64))
    before = run(*arrays, starts)
    for array in arrays[1:]:
        array[:, :, seq - 1] = 1e4
        array[:, :, :2] = -1e4
    np.testing.assert_array_equal(run(*arrays, starts)[:, : seq - 1], before[:, : seq - 1])


def test_scores_that_exp_alone_could_not_take(compiled):
    query, key, value = heads(2, 1, (12, 64), 100, 100)
    arrays = (30 * query, 30 * key, value)
    starts = np.zeros(1, np.int32)
    found = compiled("apart", (12, 64))(*arrays, starts)
    np.testing.assert_allclose(found, wanted(*arrays, starts), rtol=0, atol=2e-3)  # scores of thousands: 4 digits left


@pytest.mark.parametrize(
    ("shape", "pieces", "starts"),
    [((12, 64), (9, 1, 1, 40, 8, 11), (0, 5)), (FEW_HEADS, (130, 1, 60, 49), (7,))],
    ids=["a core per head", "cores that share a head"],
)
def test_a_text_in_pieces_is_the_text_at_once(compiled, shape, pieces, starts):
    (head, depth), length, batch = shape, sum(pieces), len(starts)
    arrays = heads(3, batch, shape, length, length)
    starts = np.array(starts, np.int32)
    slots = (batch, head, length + 20, depth)
    keys, values = (np.full(slots, np.nan, np.float32) for _ in range(2))  # slots behind are never read
    run, found, past = compiled("cached", shape), [], 0
    for seq in pieces:
        new = joined(*(array[:, :, past : past + seq] for array in arrays))
        found.append(run(new, keys, values, starts, np.array([past], np.int32)))
        past += seq
    np.testing.assert_allclose(np.concatenate(found, axis=1), wanted(*arrays, starts), rtol=0, atol=2e-6)
    np.testing.assert_array_equal(keys[:, :, :length], arrays[1])
    np.testing.assert_array_equal(values[:, :, :length], arrays[2])
    assert np.isnan(keys[:, :, length:]).all()
