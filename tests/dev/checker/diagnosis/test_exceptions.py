"""What is said of an error: what was meant, and whether another MAX may be to blame."""

import numpy as np
import pytest
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor

from checker.diagnosis.exceptions import comes_from_max
from solutions.solution_01 import GPT2Config
from solutions.solution_04 import GPT2MLP
from solutions.solution_08 import pre_norm_residual
from tests.dev.helpers.advice import error_of


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
    assert comes_from_max(caught.value, "step") is is_its
