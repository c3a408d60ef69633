"""MAX and NumPy still word their errors as the advice expects, and MAX's compiler's refusals are known beforehand."""

import math

import numpy as np
import pytest
from max.driver import CPU
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import TensorType

from checker.diagnosis import numpy_messages
from checker.diagnosis.exceptions import error_in_words
from checker.max_adapter import graphs, messages, runtime

#: What people write, with a tensor ``x`` [batch, 6].
WITH_MAX = (
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
    "x.shape[0] < 3",
    "int(x.shape[0])",
    "x.shape[1] ** 0.5",
    "math.sqrt(x.shape[0])",
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

#: The same with an array ``x`` [2, 3] that may only be read.
WITH_NUMPY = (
    "x.sum(dim=-1)",
    "x.sum(axis=-1, keepdim=True)",
    "x.masked_fill(x > 0, 0)",
    "x.tril()",
    "x.view(3, 2)",
    "x.permute(1, 0)",
    "np.ones((1, 2, 3)).transpose(1, 2)",
    "x.unsqueeze(1)",
    "np.cat([x, x])",
    "x.append(x)",
    "np.softmax(x)",
    "x.matmul(x.T)",
    "x.pow(2)",
    "x.sum().backward()",
    "x.float()",
    "x.fill(0)",
)


def errors_of(expressions, x):
    """Return what each expression raises."""
    errors = {}
    for expression in expressions:
        with pytest.raises(Exception) as caught:  # noqa: PT011 # each has its own
            eval(expression, {"F": F, "math": math, "np": np, "x": x})
        errors[expression] = caught.value
    return errors


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
    staged(lambda x: errors.update(errors_of((*WITH_MAX, "x @ x"), x)) or x)
    product = error_in_words(errors.pop("x @ x"))
    assert "Matmul: " in product
    assert "Diagnostics" not in product
    x = np.ones((2, 3))
    x.setflags(write=False)
    for raised, advice in ((errors, messages.ADVICE), (errors_of(WITH_NUMPY, x), numpy_messages.ADVICE)):
        words = {expression: error_in_words(error) for expression, error in raised.items()}
        unanswered = [text for text, answer in words.items() if not any(each in answer for each in advice.values())]
        assert unanswered == []
        assert [each for each in advice.values() if each not in " ".join(words.values())] == []


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
