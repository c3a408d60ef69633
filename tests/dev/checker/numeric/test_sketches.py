"""When two arrays count as the same, by their sketches."""

from dataclasses import replace

import numpy as np
import pytest

from checker.numeric.sketches import GROUPS, sketch

LARGE = np.random.RandomState(0).standard_normal((4, 7, 300)).astype(np.float32)


WITH_NAN = np.where(np.abs(LARGE) < 2, LARGE, np.nan)


@pytest.mark.parametrize("array", [LARGE, WITH_NAN, LARGE[0, :2, :3], np.array(3, np.float32)])
def test_the_same_numbers_in_another_order_of_operations_are_equal(array):
    assert sketch(array) == sketch(((array + 0.1) - 0.1).astype(array.dtype))
    assert sketch(array).sums.size <= GROUPS


@pytest.mark.parametrize(
    "other",
    [
        LARGE + 0.02 * (np.arange(LARGE.size).reshape(LARGE.shape) == 1234),  # a single element differs
        LARGE.reshape(7, 4, 300),
        LARGE.astype(np.float64),
        WITH_NAN,
        np.where(np.isnan(WITH_NAN), np.inf, LARGE),
        LARGE.astype(str),
    ],
)
def test_other_numbers_are_not(other):
    assert sketch(LARGE) != sketch(other)


@pytest.mark.parametrize("size", [3, 300])
def test_a_neighboring_id_is_another(size):
    ids = np.full(size, 50_256)
    assert sketch(ids) == sketch(ids.copy())
    assert sketch(ids) != sketch(ids - (np.arange(size) == 1))


def test_where_numbers_overflow_may_depend_on_the_processor():
    here, there = (replace(sketch(array), overflows=True) for array in (LARGE, WITH_NAN))
    assert here == sketch(WITH_NAN) == there == sketch(np.full_like(WITH_NAN, np.inf)) == here
    assert here == sketch(LARGE) != there
    assert here != sketch(LARGE + 1)
    assert here != sketch(WITH_NAN.ravel())
