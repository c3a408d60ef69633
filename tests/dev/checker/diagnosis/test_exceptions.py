"""What is said of an error: what was meant, where it is, and what the numbers were there."""

import linecache

import numpy as np
import pytest
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor

from checker.diagnosis.exceptions import error_in_words, is_of_max
from checker.diagnosis.locating import location_of
from solutions.solution_01 import GPT2Config
from solutions.solution_04 import GPT2MLP
from solutions.solution_08 import pre_norm_residual

SOURCE = """\
def f(x, k):
    import numpy as np
    return np.zeros(k) @ x
"""


def test_values_are_told_but_no_module(tmp_path):
    """NumPy has a function that is called shape."""
    file, space = tmp_path / "step_07.py", {}
    file.write_text(SOURCE)
    exec(compile(SOURCE, file, "exec"), space)
    with pytest.raises(ValueError, match="mismatch") as raised:
        space["f"](np.ones((2, 3)), 5)
    location = location_of(raised.value, str(file))
    assert location.line == 3
    assert location.more[-1] == "where k is 5, x is [2, 3]"


def error_of(source, names):
    """Return what is said of the error that a file raises, of which ``names`` are known before."""
    path = f"attempt: {source}"
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    with pytest.raises(Exception) as caught, F.lazy():  # noqa: PT011 # each has its own
        exec(compile(source, path, "exec"), dict(names))
    return error_in_words(caught.value, path)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"x": np.ones((2, 7, 5)), "w": np.ones((2, 7, 7))}, "The other order fits: w @ x."),
        (
            {"x": np.ones((2, 7, 5)), "w": np.ones((2, 7, 5))},
            "swap the last two axes of one. x * y multiplies number by number.",
        ),
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


def test_a_line_is_told_once_though_it_makes_a_list(tmp_path):
    file, space = tmp_path / "step_12.py", {}
    file.write_text("def f(k):\n    return [1 / i for i in range(k)]\n\n\ndef g(k):\n    return f(k)\n")
    exec(compile(file.read_text(), file, "exec"), space)
    with pytest.raises(ZeroDivisionError) as raised:
        space["g"](5)
    location = location_of(raised.value, str(file))
    assert location.line == 2
    assert [words for words in location.more if "called from" in words] == ["called from line 6: return f(k)"]


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("return x.cos() + x.sin()", "return F.cos(x) + F.sin(x)"),
        ("return x.pow(2).mean(-1, keepdim=True)", "return (x ** 2).mean(-1)"),
    ],
)
def test_the_line_to_write_instead_has_nothing_more_to_rewrite(tmp_path, statement, wanted):
    file, space = tmp_path / "step.py", {}
    file.write_text(f"from max.experimental import functional as F\n\n\ndef f(x):\n    {statement}\n")
    exec(compile(file.read_text(), str(file), "exec"), space)
    with F.lazy(), pytest.raises(AttributeError) as raised:
        space["f"](Tensor.ones([2, 3]))
    assert location_of(raised.value, str(file)).instead == wanted


#: What asks for a number of a tensor that is part of a graph -> what to write instead.
ASKING = {
    "return x.item()": "return x",
    "return 1.0 if x.item() < 2 else 1 / x": "",
    "return 1.0 if x < 2 else 1 / x": "",
    "while float(x) < 2: x = x + 1": "",
}


@pytest.mark.parametrize(("statement", "wanted"), ASKING.items(), ids=ASKING)
def test_no_line_is_to_write_instead_where_a_condition_needs_a_number(tmp_path, statement, wanted):
    file, space = tmp_path / "step.py", {}
    file.write_text(f"def f(x):\n    {statement}\n")
    exec(compile(file.read_text(), str(file), "exec"), space)
    with F.lazy(), pytest.raises(TypeError) as raised:
        space["f"](Tensor.ones([]))
    assert location_of(raised.value, str(file)).instead == wanted
    assert wanted or "F.where(condition, x, y)" in error_in_words(raised.value, str(file))


#: Code -> whether another MAX may take it where the installed one raises an error.
OF_MAX = {
    "F.no_such_function(x)": True,
    "x.no_such_method()": True,
    "from max.experimental.functional import no_such_function": True,
    "import max.no_such_module": True,
    "F.gelu(x, no_such_argument=1)": True,
    "F.band_part(x, 'no number')": True,
    "class Layer(Module): pass\nLayer().no_such_layer": False,
    "def one(): pass\none(1)": False,
    "no_such_name": False,
    "None.no_such_attribute": False,
    "1 / 0": False,
}


@pytest.mark.parametrize(("source", "is_its"), OF_MAX.items(), ids=OF_MAX)
def test_which_errors_may_be_another_maxs(source, is_its):
    with pytest.raises(Exception) as caught, F.lazy():  # noqa: PT011 # each has its own
        exec(compile(source, "step", "exec"), {"F": F, "Module": Module, "x": Tensor.zeros([2, 2]), "__name__": "step"})
    assert is_of_max(caught.value, "step") is is_its
