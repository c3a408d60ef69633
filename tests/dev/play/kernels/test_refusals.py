"""Shapes that do not fit are refused before anything is compiled, with the argument's name."""

import pytest


@pytest.fixture
def tensors():
    """A function that makes tensors whose numbers are never computed."""
    from max.dtype import DType
    from max.experimental import functional as F
    from max.experimental.tensor import Tensor

    with F.lazy():
        yield lambda *shape, dtype="float32": Tensor.zeros(shape, dtype=DType[dtype])


@pytest.mark.parametrize(
    ("query", "key", "value", "said"),
    [
        ((1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4), "query is [1, 2, 3]; it must have 4 axes"),
        ((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 6, 4), "key is [1, 2, 5, 4] and value [1, 2, 6, 4]"),
        ((1, 2, 3, 4), (1, 3, 5, 4), (1, 3, 5, 4), "may differ in the third axis alone"),
        ((1, 2, 3, 4), (1, 2, 5, 8), (1, 2, 5, 8), "may differ in the third axis alone"),
    ],
)
def test_attention(tensors, query, key, value, said):
    from play.kernels.operations import causal_attention

    with pytest.raises(ValueError) as raised:  # noqa: PT011
        causal_attention(tensors(*query), tensors(*key), tensors(*value), tensors(1, dtype="int32"))
    assert said in str(raised.value)


def test_types(tensors):
    from play.kernels.operations import causal_attention, joined_attention

    shape = (1, 2, 3, 4)
    with pytest.raises(ValueError, match="value is float64; these kernels compute in float32"):
        causal_attention(tensors(*shape), tensors(*shape), tensors(*shape, dtype="float64"), tensors(1, dtype="int32"))
    with pytest.raises(ValueError, match=r"starts is float32 \[1\]; it must be int32 \[1\]"):
        joined_attention(tensors(1, 5, 12), tensors(1), 2)
    with pytest.raises(ValueError, match=r"starts is int32 \[2\]; it must be int32 \[1\]"):
        joined_attention(tensors(1, 5, 12), tensors(2, dtype="int32"), 2)
    with pytest.raises(ValueError, match="must hold 3 times 5 heads"):
        joined_attention(tensors(1, 5, 12), tensors(1, dtype="int32"), 5)


def test_buffers_and_weights(tensors):
    from play.kernels.operations import cached_attention, linear

    starts, past = tensors(1, dtype="int32"), tensors(1, dtype="int32")
    with pytest.raises(ValueError, match=r"values is \[1, 3, 9, 2\] and must be \[1, 2, 9, 2\]"):
        cached_attention(tensors(1, 5, 12), tensors(1, 2, 9, 2), tensors(1, 3, 9, 2), starts, past, 2)
    with pytest.raises(ValueError, match=r"past is float32 \[1\]; it must be int32 \[1\]"):
        cached_attention(tensors(1, 5, 12), tensors(1, 2, 9, 2), tensors(1, 2, 9, 2), starts, tensors(1), 2)
    with pytest.raises(ValueError, match=r"must be \[batch, seq, in\], \[out, in\] and \[out\]"):
        linear(tensors(1, 5, 12), tensors(7, 11), tensors(7))
    with pytest.raises(ValueError, match=r"x is \[5, 12\]; it must have 3 axes"):
        linear(tensors(5, 12), tensors(7, 12), tensors(7))
