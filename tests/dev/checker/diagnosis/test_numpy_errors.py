"""NumPy still words its errors as the advice expects."""

import numpy as np
import pytest

from checker.diagnosis import numpy_errors
from tests.dev.helpers.advice import assert_advice_is_given, words_of

#: What people write with an array ``x`` [2, 3] that may only be read.
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
    "np.concatenate([x, x[:, :2]])",
    "np.random.choice(3, p=x)",
    "np.random.choice(3, p=x[0])",
    "bool(x)",
    "np.ones(0).argmin()",
    "x.reshape(7)",
    "x[5]",
    "np.where(x > 0, x)",
    "np.array([1, [2, 3]])",
    "x(3)",
    "[*ENCODING]",
    "torch.ones(3)",
    "def f():\n    math = math.pi\nf()",
)


def test_every_error_gets_advice_and_every_advice_is_given():
    x = np.ones((2, 3))
    x.setflags(write=False)
    assert_advice_is_given(words_of(WITH_NUMPY, {"x": x}), numpy_errors.ADVICE)


@pytest.mark.parametrize("imported", numpy_errors.IMPORTS.items())
def test_an_import_to_write_imports_that_name(imported):
    name, statement = imported
    namespace: dict = {}
    exec(statement, namespace)
    assert name in namespace
