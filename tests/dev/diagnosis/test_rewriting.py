"""Rules rewrite the statement that failed; what they write exists."""

import ast
import re

import numpy as np
import pytest
from max.experimental import functional as F
from max.experimental.tensor import Tensor

from checker.diagnosis import numpy_messages
from checker.diagnosis.rewriting import rewritten, rule
from checker.max_adapter import messages

HEAD = "from max.experimental import functional as F\nimport numpy as np\n\n"
LIBRARIES = {"F": F, "np": np, "Tensor": Tensor}


def instead(statement, *rules, failed=None):
    """What to write instead of a statement, of which the part ``failed`` did."""
    source = HEAD + statement
    failed = failed or statement.partition(" = ")[2] or statement
    at = source.index(failed)
    before = source[:at]
    line, column = before.count("\n") + 1, len(before.rpartition("\n")[2])
    place = (line, line, column, column + len(failed.partition("\n")[0]))
    return rewritten(source, place, rules)[1]


@pytest.mark.parametrize(
    ("statement", "text", "wanted"),
    [
        ("y = x.view(2, n)", "x.view(*a) => x.reshape([*a])", "y = x.reshape([2, n])"),
        ("y = x.view(*x.shape[:-1], n)", "x.view(*a) => x.reshape([*a])", "y = x.reshape([*x.shape[:-1], n])"),
        ("y = F.max(x, dim=1, keep=2)", "f(*a, dim=n, **k) => f(*a, axis=n, **k)", "y = F.max(x, axis=1, keep=2)"),
        ("y = x.size(0)", "x.size() => x.shape", ""),
        ("x *= 2", "x *= y => x = x * y", "x = x * 2"),
        ("x[0] *= 2", "x *= y => x = x * y", ""),  # x[0] = x[0] * 2 would change the same array
        ("x[x < 0] = 1", "x[m] = v => x = np.where(m, v, x)", "x = np.where(x < 0, 1, x)"),
        ("x.div_(2)", "x.div_(y) => x = x / y", "x = x / 2"),
        ("y = x.div_(2)", "x.div_(y) => x = x / y", ""),
        ("assert a, b", "assert c, m => if not c: raise ValueError(m)", "if not a: raise ValueError(b)"),
        ("raise 'no'", "raise m => raise ValueError(m)", 'raise ValueError("no")'),
        ("y = x[1:]", "x[i] => F.gather(x, i, axis=0)", ""),
        ("y = F.softmax(x)", "F.softmax(x) => F.softmax(x)", ""),
        ("y = x + x", "x + y => F.unknown(x, y)", "y = F.unknown(x, x)"),
        ("y = x + x", "x + y => G.unknown(x, y)", ""),
    ],
)
def test_a_statement_is_rewritten(statement, text, wanted):
    assert instead(statement, text) == wanted


@pytest.mark.parametrize(
    ("statement", "failed", "text", "wanted"),
    [
        ("y = a.b[0] + a.b[0]", "a.b[0] + a.b[0]", "x + x => 2 * x", "y = 2 * a.b[0]"),
        ("y = a + b", "a + b", "x + x => 2 * x", ""),
        ("y = x.shape[0] + x[i]", "x[i]", "x[i] => F.gather(x, i, axis=0)", "y = x.shape[0] + F.gather(x, i, axis=0)"),
        ("y = two(a) + one(b)", "two(a)", "one(x) => x", ""),
        ("y = x.pow(2) + x.pow(3)", "x.pow(2)", "x.pow(n) => x ** n", "y = x ** 2 + x ** 3"),
        (
            "for part in x.chunk(3, dim=1):\n    print(part)\n",
            "x.chunk",
            "x.chunk(*a, dim=n) => F.chunk(x, *a, axis=n)",
            "for part in F.chunk(x, 3, axis=1):",
        ),
    ],
)
def test_what_failed_decides_and_a_letter_stands_for_one_thing(statement, failed, text, wanted):
    assert instead(statement, text, failed=failed) == wanted


def test_a_rule_may_fit_elsewhere_if_it_says_so():
    source = HEAD + "rows = mask[-length:]\nscores = scores + rows\n"
    assert rewritten(source, None, ["~x[-n:] => x[x.shape[0] - n:]"]) == (4, "rows = mask[mask.shape[0] - length:]")
    assert rewritten(source, None, ["x[-n:] => x[x.shape[0] - n:]"]) == (0, "")


def test_quotes_stay_as_they_are_meant():
    assert instead("y = f('it', dim=1)", "f(*a, dim=n) => f(*a, axis=n)") == 'y = f("it", axis=1)'
    assert instead("""y = f("it's", dim=1)""", "f(*a, dim=n) => f(*a, axis=n)") == """y = f("it's", axis=1)"""


@pytest.mark.parametrize(
    "call", ["x.softmax(dim=-1)", "torch.softmax(x, dim=-1)", "nn.functional.softmax(x, -1)", "softmax(x, axis=-1)"]
)
def test_a_call_fits_however_its_library_spells_it(call):
    assert instead(f"y = {call}", "F.softmax(x, axis=n) => F.softmax(x, axis=n)") == "y = F.softmax(x, axis=-1)"


@pytest.mark.parametrize("table", [messages, numpy_messages], ids=["MAX", "NumPy"])
def test_a_rule_brings_only_what_there_is(table):
    for pattern, rules in table.REWRITES.items():
        names = re.search(r"\((\w+(\|\w+)+)\)", pattern)
        for text in (one.replace("{0}", name) for one in rules for name in (names[1] if names else "sqrt").split("|")):
            for node in ast.walk(rule(text)[1]):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in LIBRARIES:
                    assert hasattr(LIBRARIES[node.value.id], node.attr), ast.unparse(node)
