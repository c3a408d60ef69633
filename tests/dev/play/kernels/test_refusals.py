"""Shapes and types that do not fit are refused before anything is compiled, with the argument's name."""

import re

import pytest

JOINED, BUFFER, ONE = (1, 5, 12), (1, 2, 9, 2), ((1,), "int32")


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("cached_attention", [(5, 12), BUFFER, BUFFER, ONE, ONE, 2], "joined is float32 [5, 12]; it must be float32"),
        ("cached_attention", [JOINED, BUFFER, BUFFER, ONE, ONE, 5], "must hold 3 times 5 heads"),
        ("cached_attention", [JOINED, BUFFER, BUFFER, ((2,), "int32"), ONE, 2], "starts is int32 [2]; it must be"),
        ("cached_attention", [JOINED, BUFFER, (1, 3, 9, 2), ONE, ONE, 2], "values is float32 [1, 3, 9, 2]; it must be"),
        ("cached_attention", [JOINED, BUFFER, BUFFER, ONE, (1,), 2], "past is float32 [1]; it must be int32 [1]"),
        ("linear", [JOINED, (7, 11), (7,)], "x is float32 [1, 5, 12]; it must be float32 [any, any, 11]"),
        ("linear", [JOINED, (7, 12), (12,)], "bias is float32 [12]; it must be float32 [7]"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(name, arguments, message):
    from max.dtype import DType
    from max.experimental import functional as F
    from max.experimental.tensor import Tensor

    from play.kernels import operations

    def tensor(argument):
        if isinstance(argument, int):
            return argument
        shape, dtype = argument if isinstance(argument[-1], str) else (argument, "float32")
        return Tensor.zeros(shape, dtype=DType[dtype])

    with F.lazy(), pytest.raises(ValueError, match=re.escape(message)):
        getattr(operations, name)(*map(tensor, arguments))
