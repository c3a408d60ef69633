"""When two numbers count as equal."""

import math

import numpy as np
import pytest

from checker.claims import Refusal, equal

RIGHT = np.random.RandomState(0).standard_normal((2, 3, 5)).astype(np.float32)


def test_the_tolerance_is_of_rounding_and_tells_exact_gelu_from_tanh_gelu():
    equal(RIGHT + np.float32(5e-6), RIGHT)
    equal(np.full(3, np.nan, np.float32), np.full(3, np.nan, np.float32))
    equal(RIGHT / 1000 + np.float32(5e-6), RIGHT / 1000)  # only to numbers above 1 is it in proportion
    x = np.linspace(-4, 4, 801)
    tanh = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    exact = 0.5 * x * (1 + np.array([math.erf(value / math.sqrt(2)) for value in x]))
    with pytest.raises(Refusal):
        equal(exact.astype(np.float32), tanh.astype(np.float32))
