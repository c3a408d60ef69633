"""MAX still words its errors as the advice expects."""

import re

import numpy as np
from max.experimental import functional as F
from max.experimental.nn import Embedding, Linear
from max.graph import Dim

from checker.max_adapter import max_errors, runtime
from checker.max_adapter.hooks import install_hooks
from play.book.chapters import SRC
from tests.dev.helpers.advice import assert_advice_is_given, words_of

#: What people write with a tensor ``x``; the page also shows what the check says to it.
PAGE = (SRC / "troubleshooting.md").read_text()
ATTEMPTS = re.findall(r'^ATTEMPTS = """\\\n(.+?)"""$', PAGE, re.DOTALL | re.MULTILINE)[0].splitlines()
WITH_MAX = [line for line in ATTEMPTS if not line.startswith("#")]  # which are the groups' names

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
    "1.0 if F.sum(x, axis=None).item() < 2 else x",
    "a, b = 'blk.0.weight'.split('.')",
    "for name, weight in weights:\n    pass",
    "def f():\n    Dim = Dim('seq')\nf()",
)

#: What only MAX's kernels say, once they run: an index of 17 in a table of 13 rows.
OUTSIDE = "gather index 17 is out of bounds for axis 1 with size 13"


NAMES = {"Dim": Dim, "F": F, "Linear": Linear, "Embedding": Embedding}


def test_every_error_gets_advice_and_every_advice_is_given():
    install_hooks()
    ids = runtime.tensor(np.ones((2, 8), np.int64))
    x = runtime.tensor(np.ones((2, 3, 8), np.float32))
    given = {"x": x, "input_ids": ids, "weights": {"wte": x}, "_attn": lambda query, key: query @ key}
    with_max = words_of([*WITH_MAX, *MORE_WITH_MAX], NAMES | given)
    assert "Diagnostics" not in with_max["x @ x"]
    outside = max_errors.without_internals(OUTSIDE)
    for code in ("self.wpe(input_ids)", "self.wpe(positions)"):
        with_max[code] = max_errors.advice_on(outside, code=code)
    assert_advice_is_given(with_max, max_errors.ADVICE)
