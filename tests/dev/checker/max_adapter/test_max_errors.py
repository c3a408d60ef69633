"""MAX and NumPy still word their errors as the advice expects."""

import math
import re

import numpy as np
from max.experimental import functional as F
from max.experimental.nn import Embedding, Linear
from max.graph import Dim
from tokenizers import Tokenizer
from tokenizers.models import BPE

from checker.diagnosis import numpy_errors
from checker.max_adapter import max_errors, runtime
from checker.max_adapter.hooks import install_hooks
from play.reading.chapters import SRC
from tests.dev.checker.diagnosis.test_exceptions import error_of

#: What people write with a tensor ``x``; the page also shows what the check says to it.
PAGE = (SRC / "troubleshooting.md").read_text()
WITH_MAX = re.findall(r'^ATTEMPTS = """\\\n(.+?)"""$', PAGE, re.DOTALL | re.MULTILINE)[0].splitlines()

#: More of the kind, whose advice depends on the statement.
MORE_WITH_MAX = (
    "q, k, v = x",
    "q, k, v = 1, 2",
    "Linear(4, 4)(x)",
    "np.arange(x.shape[0])",
    "np.ones((Dim('seq'), 2))",
    "F.sum(x) / (x.shape[-1] - 1)",
    "x.shape[0] / 2",
    "total = int(Dim('seq'))",
    "Dim('seq') < 3",
    "x[0] = x",
    "Embedding(4, dim=2)(x)",
    "F.sqrt(2)",
    "F.band_part(x, num_lower=9, num_upper=None)",
    "F.band_part(x, num_lower=Dim('seq'), num_upper=None)",
    "Linear(8, 4)(input_ids)",
    "x * x.unsqueeze(-1)",
    "_attn(x, key=x)",
    "F.chunk(x, 5)",
    "a, b = 'blk.0.weight'.split('.')",
    "for name, weight in weights:\n    pass",
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
)


def words_of(expressions, x, **more):
    """Return what is said of the error that each expression raises, as the only line of a file."""
    names = {"Dim": Dim, "F": F, "math": math, "np": np, "Linear": Linear, "Embedding": Embedding, "x": x, **more}
    names |= {"ENCODING": Tokenizer(BPE()).encode(""), "weights": {"wte": x}}
    return {expression: error_of(expression, names) for expression in expressions}


def test_every_error_gets_advice_and_every_advice_is_given():
    install_hooks()
    ids = runtime.tensor(np.ones((2, 8), np.int64))
    x = runtime.tensor(np.ones((2, 3, 8), np.float32))
    with_max = words_of([*WITH_MAX, *MORE_WITH_MAX], x, input_ids=ids, _attn=lambda query, key: query @ key)
    assert "Diagnostics" not in with_max["x @ x"]
    outside = max_errors.without_internals(OUTSIDE)
    for code in ("self.wpe(input_ids)", "self.wpe(positions)"):
        with_max[code] = max_errors.advice_on(outside, code=code)
    x = np.ones((2, 3))
    x.setflags(write=False)
    for words, advice in ((with_max, max_errors.ADVICE), (words_of(WITH_NUMPY, x), numpy_errors.ADVICE)):
        choices = [[each] if isinstance(each, str) else [*each.values()] for each in advice.values()]
        flat = [each for several in choices for each in several]
        unanswered = [text for text, answer in words.items() if not any(each in answer for each in flat)]
        assert unanswered == []
        assert [each for each in flat if each not in " ".join(words.values())] == []
