"""MAX still words its errors as the advice expects, and its compiler's refusals are known beforehand."""

import math

import numpy as np
import pytest
from max.driver import CPU
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import TensorType

from checker.max_adapter import graphs, runtime
from checker.max_adapter.messages import ADVICE, advice_on, what_was_said, without_internals

#: What people write, with a tensor ``x`` [batch, 6].
MISTAKEN = (
    "F.softmax(x, dim=1)",
    "F.tril(x)",
    "x.masked_fill(x > 0, 0.0)",
    "x.view([-1])",
    "x.contiguous()",
    "x.size(0)",
    "F.cat([x, x])",
    "x.transpose(0, 1, 0)",
    "x.reshape(3, 4)",
    "x.permute(0, 1)",
    "x.shape[0] ** 0.5",
    "x.shape[0] < 3",
    "int(x.shape[0])",
    "x.shape[1] ** 0.5",
    "1.5 / (x.shape[0] // 2)",
    "math.sqrt(x.shape[0])",
    "np.sqrt(x.shape[0])",
    "x[0][x[0] > 0]",
    "F.gelu(x, approximate='erf')",
    "F.cross_entropy(x, x)",
    "F.one_hot(x, 3)",
    "F.pad(x, (0, 1))",
    "float(x)",
    "x.__setitem__(0, 1.0)",
    "F.gather_nd(x, F.argmax(x), batch_dims=2)",
    "x / F.argmax(x)",
    "x.backward()",
    "F.sum(x, axis=(0, 1))",
    "x.index_add_(0, x, x)",
    "F.einsum('bto,bti->oi', x, x)",
    "[query for query, key, value in [F.split(x, 3, axis=-1)]]",
)


def staged(evaluate):
    """Return the graph of a module that is a function of ``x`` [batch, 6]."""

    class Evaluating(Module):
        def forward(self, x):
            return evaluate(x)

    def stage():
        with pytest.raises(graphs.StagedError):
            Evaluating().compile(TensorType(DType.float32, ["batch", 6], device=CPU()))

    runtime.prepare()
    (graph,) = graphs.staged_by(stage)
    return graph


def test_every_error_gets_advice_and_every_advice_is_given():
    errors = {}

    def make_mistakes(x):
        for expression in (*MISTAKEN, "x @ x"):
            with pytest.raises(Exception) as caught:  # noqa: PT011 # each has its own
                eval(expression, {"F": F, "math": math, "np": np, "x": x})
            errors[expression] = caught.value
        return x

    staged(make_mistakes)
    product = without_internals(str(errors.pop("x @ x")))
    assert product.startswith("Matmul: ")
    assert "Diagnostics" not in product
    advice = {expression: advice_on(what_was_said(error)) for expression, error in errors.items()}
    assert [expression for expression, words in advice.items() if not words] == []
    assert {words for words in ADVICE.values() if words not in " ".join(advice.values())} == set()


@pytest.mark.parametrize(
    ("evaluate", "words"),
    [
        (lambda x: F.softmax(x, axis=-2), "no softmax over a negative axis"),
        (lambda x: F.sum(x > 0, axis=1), "no sum of booleans"),
        (lambda x: F.softmax(x, axis=-1), ""),
        (lambda x: F.sum(x, axis=1), ""),
    ],
)
def test_what_the_compiler_would_refuse_is_refused_before(evaluate, words):
    refused = graphs.refused_by_the_compiler(staged(evaluate))
    assert words in refused
    assert bool(words) == bool(refused)
