"""Rules rewrite the statement that failed; what they write exists. That it leads to a pass is in ``test_checks.py``."""

import ast
import re

import numpy as np
import pytest
from max.experimental import functional as F
from max.experimental.tensor import Tensor

from checker.diagnosis import numpy_errors
from checker.diagnosis.rewriting import Rewrite, parse_rule, rewrite_by_first_rule, rewrite_what_is_left
from checker.max_adapter import max_errors

HEAD = "from max.experimental import functional as F\nimport numpy as np\n\n"
LIBRARIES = {"F": F, "np": np, "Tensor": Tensor}
AXIS = "f(*a, dim=n, **k) => f(*a, axis=n, **k)"


@pytest.mark.parametrize(
    ("statement", "failed", "text", "wanted"),
    [
        (
            "y = x.view(*x.shape[:-1], n)",
            "x.view",
            "x.view(*a) => x.reshape([*a])",
            "y = x.reshape([*x.shape[:-1], n])",
        ),
        ("y = F.max(x, dim=1, keep=2)", "F.max", AXIS, "y = F.max(x, axis=1, keep=2)"),
        ("y = softmax(x, -1)", "softmax", "F.softmax(x, axis=n) => F.softmax(x, axis=n)", "y = F.softmax(x, axis=-1)"),
        ("y = x.size(0)", "x.size", "x.size() => x.shape", ""),
        ("x[0] *= 2", "x[0]", "x *= y => x = x * y", ""),  # x[0] = x[0] * 2 would change the same array
        ("y = x.div_(2)", "x.div_", "x.div_(y) => x = x / y", ""),
        ("y = x[1:]", "x[1:]", "x[i] => F.gather(x, i, axis=0)", ""),
        ("x[i] = y", "x[i]", "x[i] => F.gather(x, i, axis=0)", ""),  # a call cannot be assigned to
        ("y = x + x", "x + x", "x + y => G.unknown(x, y)", ""),
        ("y = a + b", "a + b", "x + x => 2 * x", ""),
        ("y = x.shape[0] + x[i]", "x[i]", "x[i] => F.gather(x, i, axis=0)", "y = x.shape[0] + F.gather(x, i, axis=0)"),
        ("y = self.softmax(x)", "self.softmax", "x.softmax(*a) => softmax(x)", ""),
        ("y = two(a) + one(b)", "two", "one(x) => x", ""),
        ("for y in x.chunk(3):\n    pass", "x.chunk", "x.chunk(*a) => F.chunk(x, *a)", "for y in F.chunk(x, 3):"),
        ("y = f('it', dim=1)", "f", AXIS, 'y = f("it", axis=1)'),
        ("""y = f("it's", dim=1)""", "f", AXIS, """y = f("it's", axis=1)"""),
    ],
)
def test_the_part_that_failed_is_rewritten_if_a_rule_fits_it(statement, failed, text, wanted):
    column = statement.rindex(failed)
    line = HEAD.count("\n") + 1
    span = (line, line, column, column + len(failed))
    assert rewrite_by_first_rule(HEAD + statement, span, [text]) == (Rewrite(line, wanted) if wanted else None)


@pytest.mark.parametrize(
    ("statement", "rules", "wanted"),
    [
        (
            "cos, sin = F.cos(x)[:, None], x.sin()[:, None]",
            ["F.sin(x) => F.sin(x)"],
            "cos, sin = F.cos(x)[:, None], F.sin(x)[:, None]",
        ),
        ("y = (x ** 2).mean(-1, keepdim=True)", ["f(*a, keepdim=b, **k) => f(*a, **k)"], "y = (x ** 2).mean(-1)"),
        ("return F.exp(x)", ["f(*a, keepdim=b, **k) => f(*a, **k)"], "return F.exp(x)"),
        ("for y in F.chunk(x.sin(), 3):", ["F.sin(x) => F.sin(x)"], "for y in F.chunk(x.sin(), 3):"),
    ],
)
def test_what_else_would_fail_in_a_line_is_rewritten_too(statement, rules, wanted):
    assert rewrite_what_is_left(statement, rules) == wanted


def test_a_rule_may_fit_anywhere_if_no_place_is_named():
    source = HEAD + "rows = mask[-length:]\nscores = scores + rows\n"
    rewrite = Rewrite(4, "rows = mask[mask.shape[0] - length:]")
    assert rewrite_by_first_rule(source, None, ["x[-n:] => x[x.shape[0] - n:]"]) == rewrite
    assert rewrite_by_first_rule(source, (5, 5, 9, 22), ["x[-n:] => x[x.shape[0] - n:]"]) is None


@pytest.mark.parametrize("table", [max_errors, numpy_errors], ids=["MAX", "NumPy"])
def test_a_rule_brings_only_what_there_is(table):
    for pattern, rules in table.REWRITES.items():
        names = re.search(r"\((\w+(\|\w+)+)\)", pattern)
        for text in (
            each.replace("{0}", name) for each in rules for name in (names[1] if names else "sqrt").split("|")
        ):
            for node in ast.walk(parse_rule(text)[1]):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in LIBRARIES:
                    assert hasattr(LIBRARIES[node.value.id], node.attr), ast.unparse(node)
