"""MAX and NumPy still word their errors as the advice expects, and MAX's compiler's refusals are known beforehand."""

import linecache
import math
import re

import numpy as np
import pytest
from max.driver import CPU
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Embedding, Linear, Module
from max.experimental.tensor import TensorType
from max.graph import Dim

from checker.diagnosis import numpy_messages
from checker.diagnosis.exceptions import error_in_words
from checker.max_adapter import graph_store, messages, runtime
from checker.max_adapter.hooks import install_hooks
from checker.max_adapter.tracing import Mode, up_to_compiling
from play.reading.chapters import SRC
from solutions.solution_01 import GPT2Config
from solutions.solution_04 import GPT2MLP
from solutions.solution_08 import pre_norm_residual

#: What people write with a tensor ``x``; the page also shows what the check says to it.
PAGE = (SRC / "troubleshooting.md").read_text()
WITH_MAX = re.findall(r'^ATTEMPTS = """\\\n(.+?)"""$', PAGE, re.DOTALL | re.MULTILINE)[0].splitlines()

#: More of the kind, whose advice depends on the statement.
MORE_WITH_MAX = (
    "q, k, v = x",
    "q, k, v = 1, 2",
    "Linear(4, 4)(x)",
    "np.arange(x.shape[0])",
    "x.shape[0] / 2",
    "total = int(Dim('seq'))",
    "Dim('seq') < 3",
    "x[0] = x",
    "Embedding(4, dim=2)(x)",
    "F.sqrt(2)",
    "F.band_part(x, num_lower=9, num_upper=None)",
)

#: What only MAX's kernels say, once they run: an index of 17 in a table of 13 rows.
OUTSIDE = "gather index 17 is out of bounds for axis 1 with size 13"

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


def error_of(source, names):
    """Return what is said of the error that a file raises, of which ``names`` are known before."""
    path = f"attempt: {source}"
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    with pytest.raises(Exception) as caught, F.lazy():  # noqa: PT011 # each has its own
        exec(compile(source, path, "exec"), dict(names))
    return error_in_words(caught.value, path)


def words_of(expressions, x):
    """Return what is said of the error that each expression raises, as the only line of a file."""
    names = {"Dim": Dim, "F": F, "math": math, "np": np, "Linear": Linear, "Embedding": Embedding, "x": x}
    return {expression: error_of(expression, names) for expression in expressions}


def staged(evaluate):
    """Return the graph of a module that is a function of ``x`` [batch, 6]."""

    class Evaluating(Module):
        def forward(self, x):
            return evaluate(x)

    install_hooks()
    with up_to_compiling(Mode.COLLECT) as left:
        Evaluating().compile(TensorType(DType.float32, ["batch", 6], device=CPU()))
    (graph,) = left
    return graph


def test_every_error_gets_advice_and_every_advice_is_given():
    install_hooks()
    with_max = words_of([*WITH_MAX, *MORE_WITH_MAX], runtime.tensor(np.ones((2, 3, 8), np.float32)))
    assert "Diagnostics" not in with_max["x @ x"]
    outside = messages.without_internals(OUTSIDE)
    for code in ("self.wpe(input_ids)", "self.wpe(positions)"):
        with_max[code] = messages.advice_on(outside, code=code)
    x = np.ones((2, 3))
    x.setflags(write=False)
    for words, advice in ((with_max, messages.ADVICE), (words_of(WITH_NUMPY, x), numpy_messages.ADVICE)):
        choices = [[each] if isinstance(each, str) else [*each.values()] for each in advice.values()]
        flat = [each for several in choices for each in several]
        unanswered = [text for text, answer in words.items() if not any(each in answer for each in flat)]
        assert unanswered == []
        assert [each for each in flat if each not in " ".join(words.values())] == []


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
    refused = graph_store.refused_by_the_compiler(staged(evaluate))
    assert words in refused
    assert bool(words) == bool(refused)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"x": np.ones((2, 7, 5)), "w": np.ones((2, 7, 7))}, "The other order fits: w @ x."),
        ({"x": np.ones((2, 7, 5)), "w": np.ones((2, 7, 5))}, "swap the last two axes of one."),
    ],
)
def test_the_order_of_a_product_is_told_where_the_shapes_say_it(names, said):
    assert said in error_of("x @ w", names)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("normed = 1\nprint(nomred)", "Did you mean normed?"),
        ("self = 1j\nprint(imag)", "Did you mean self.imag?"),
        ("math.exp(1)", "write `import math` at the top."),
        ("from functools import partial as fixed\npartial(print)", "The file imports it as fixed."),
        ("import numpy as np\nnp.concatenat([])", "Did you mean concatenate?"),
        ("unlike_anything", "NameError: name 'unlike_anything' is not defined"),
        ("GPT2MLP(config.n_inner, config)", "The signature is GPT2MLP(config)."),
        ("pre_norm_residual(len, 1, abs)", "The signature is pre_norm_residual(x, norm, sublayer)."),
    ],
)
def test_what_was_meant_is_told(source, said):
    names = {"GPT2MLP": GPT2MLP, "pre_norm_residual": pre_norm_residual, "config": GPT2Config()}
    assert error_of(source, names).endswith(said)


@pytest.mark.parametrize("imported", numpy_messages.IMPORTS.items())
def test_an_import_to_write_imports_that_name(imported):
    name, statement = imported
    namespace: dict = {}
    exec(statement, namespace)
    assert name in namespace
