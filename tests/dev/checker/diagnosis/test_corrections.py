"""Where an error comes from, what the numbers were there, and what to write instead."""

import numpy as np
import pytest
from max.experimental import functional as F
from max.experimental.tensor import Tensor

from checker.diagnosis.corrections import location_of

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
