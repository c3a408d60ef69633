"""MAX and NumPy still word their errors as the advice expects, and MAX's compiler's refusals are known beforehand."""

import math
import re

import numpy as np
import pytest
from max.driver import CPU
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import TensorType
from max.graph import Dim

from checker.diagnosis import numpy_messages
from checker.diagnosis.exceptions import error_in_words
from checker.max_adapter import compiled, messages, runtime
from play.reading.chapters import SRC

#: What people write with a tensor ``x``; the page also shows what the check says to it.
PAGE = (SRC / "troubleshooting.md").read_text()
WITH_MAX = re.findall(r'^ATTEMPTS = """\\\n(.+?)"""$', PAGE, re.DOTALL | re.MULTILINE)[0].splitlines()

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
    "x + np.ones(2)",
    "x @ x",
    "np.concatenate([x, x[0]])",
    "np.random.choice(3, p=x)",
    "np.random.choice(3, p=x[0])",
    "bool(x)",
    "np.ones(0).argmin()",
    "x.reshape(7)",
    "x[5]",
    "np.where(x > 0, x)",
    "x(3)",
    "torch.ones(3)",
)


def errors_of(expressions, x):
    """Return what each expression raises."""
    errors = {}
    for expression in expressions:
        with pytest.raises(Exception) as caught, F.lazy():  # noqa: PT011 # each has its own
            exec(expression, {"Dim": Dim, "F": F, "math": math, "np": np, "x": x})
        errors[expression] = caught.value
    return errors


def staged(evaluate):
    """Return the graph of a module that is a function of ``x`` [batch, 6]."""

    class Evaluating(Module):
        def forward(self, x):
            return evaluate(x)

    def stage():
        with pytest.raises(compiled.StagedError):
            Evaluating().compile(TensorType(DType.float32, ["batch", 6], device=CPU()))

    runtime.prepare()
    (graph,) = compiled.staged_by(stage)
    return graph


def test_every_error_gets_advice_and_every_advice_is_given():
    runtime.prepare()
    errors = errors_of(WITH_MAX, runtime.tensor(np.ones((2, 3, 8), np.float32)))
    assert "Diagnostics" not in error_in_words(errors["x @ x"])
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
    refused = compiled.refused_by_the_compiler(staged(evaluate))
    assert words in refused
    assert bool(words) == bool(refused)
