"""Where an error comes from: the line, what to write there instead, and what the numbers were."""

import numpy as np
import pytest
from max.experimental import functional as F
from max.experimental.tensor import Tensor

from checker.diagnosis.exceptions import error_in_words
from checker.diagnosis.locating import location_of


def error_in(file, source, *arguments):
    """Return the error that a function ``f`` of a file raises."""
    file.write_text(source)
    exec(compile(source, file, "exec"), names := {})
    with pytest.raises(Exception) as raised:  # noqa: PT011 # each has its own
        names["f"](*arguments)
    return raised.value


CALLS = """\
def f(x):
    return g(x)

def g(x):
    return h(x)

def h(x):
    return [i / 0 for i in (x, 3)]
"""
MODULE = "def f(x, k):\n    import numpy as np\n    return np.zeros(k) @ x\n"  # it has a function that is called shape

#: A file, what ``f`` is given -> the line of the error, and what more is told of it.
PLACES = {
    "values are told, but no module": (MODULE, [np.ones((2, 3)), 5], 3, ["where k is 5, x is [2, 3]"]),
    "no value is told that is long": ("def f(x):\n    return x + 1\n", ["a" * 30], 2, []),
    "the last call is told first, and a comprehension is none": (
        CALLS,
        [2],
        8,
        ["called from line 5: return h(x)", "called from line 2: return g(x)", "where i is 2"],
    ),
    "only the last two calls are told": (
        CALLS.replace("g(x)\n\n", "e(x)\n\ndef e(x):\n    return g(x)\n\n", 1),
        [2],
        11,
        ["called from line 8: return h(x)", "called from line 5: return g(x)", "where i is 2"],
    ),
}


@pytest.mark.parametrize(("source", "arguments", "line", "more"), PLACES.values(), ids=PLACES)
def test_the_line_of_an_error_is_told_with_values_there_and_the_calls_that_led_to_it(
    tmp_path, source, arguments, line, more
):
    file = tmp_path / "step_12.py"
    location = location_of(error_in(file, source, *arguments), str(file))
    assert (location.line, location.more) == (line, more)
    assert location.code == source.splitlines()[line - 1].strip()


#: A statement of ``f(x)``, which may call ``g(x, *, factor)``, and the error that is wanted -> what to write instead.
INSTEAD = {
    ("assert x > 2, 'It is small.'", "ValueError"): 'if not x > 2: raise ValueError("It is small.")',
    ("assert not x < 2, 'It is small.'", "ValueError"): 'if x < 2: raise ValueError("It is small.")',
    ("assert x > 2, 'It is small.'", ""): "",
    ("raise 'It is small.'", "ValueError"): 'raise ValueError("It is small.")',
    ("return g(x, factors=2)", ""): "return g(x, factor=2)",
    ("return g(x, axis=2, factor=1)", ""): "return g(x, factor=1)",
    ("return g(x, 2)", ""): "return g(x, factor=2)",
    ("return g(x, 2, 3)", ""): "",
    ("return 1 / 0", ""): "",
}


@pytest.mark.parametrize(("statement", "wanted"), INSTEAD, ids=[" ".join(key) for key in INSTEAD])
def test_the_line_to_write_is_the_error_that_is_wanted_or_what_the_signature_asks_for(tmp_path, statement, wanted):
    file = tmp_path / "step_12.py"
    source = f"def g(x, *, factor):\n    return factor * x\n\n\ndef f(x):\n    {statement}\n"
    location = location_of(error_in(file, source, 1), str(file), wanted)
    instead = INSTEAD[statement, wanted]
    assert (location.line, location.instead, location.instead_line) == (6, instead, 6 if instead else 0)


def test_an_error_from_elsewhere_has_a_place_only_if_a_rule_knows_what_causes_it(tmp_path):
    """MAX computes later than the line that asks for it; a mask is cut off at the end of that line."""
    file = tmp_path / "step_12.py"
    file.write_text("def f(mask, length):\n    rows = mask[-length:]\n    return rows\n")
    assert location_of(ValueError("It is small."), str(file)) is None
    location = location_of(ValueError("value add([1], [2]) is neither equivalent nor broadcastable"), str(file))
    assert (location.line, location.code) == (2, "")
    assert (location.instead, location.instead_line) == ("rows = mask[mask.shape[0] - length:]", 2)


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("return x.cos() + x.sin()", "return F.cos(x) + F.sin(x)"),
        ("return x.pow(2).mean(-1, keepdim=True)", "return (x ** 2).mean(-1)"),
    ],
)
def test_the_line_to_write_instead_has_nothing_more_to_rewrite(tmp_path, statement, wanted):
    file = tmp_path / "step_12.py"
    source = f"from max.experimental import functional as F\n\n\ndef f(x):\n    {statement}\n"
    with F.lazy():
        error = error_in(file, source, Tensor.ones([2, 3]))
    assert location_of(error, str(file)).instead == wanted


#: What asks for a number of a tensor that is part of a graph -> what to write instead.
ASKING = {
    "return x.item()": "return x",
    "return 1.0 if x.item() < 2 else 1 / x": "",
    "return 1.0 if x < 2 else 1 / x": "",
    "while float(x) < 2: x = x + 1": "",
}


@pytest.mark.parametrize(("statement", "wanted"), ASKING.items(), ids=ASKING)
def test_no_line_is_to_write_instead_where_a_condition_needs_a_number(tmp_path, statement, wanted):
    file = tmp_path / "step_12.py"
    with F.lazy():
        error = error_in(file, f"def f(x):\n    {statement}\n", Tensor.ones([]))
    assert location_of(error, str(file)).instead == wanted
    assert wanted or "F.where(condition, x, y)" in error_in_words(error, str(file))
