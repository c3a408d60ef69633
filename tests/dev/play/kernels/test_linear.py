"""The linear layer in Mojo against NumPy in double precision: few rows, many, and sizes that no register divides."""

import pytest

from tests.dev.play.kernels.libraries import check_linear, library

pytestmark = pytest.mark.slow  # Mojo compiles for some seconds


@pytest.fixture(scope="module")
def linear(tmp_path_factory):
    return library("linear", tmp_path_factory.mktemp("linear"))


FEW = (1, 2, 3, 4, 5, 6, 7, 8)
MANY = (9, 15, 16, 17, 33, 48, 49, 80, 96, 97, 144, 145, 200, 300)  # around what blocks of 16 to 144 rows hold


@pytest.mark.parametrize("rows", [*FEW, *MANY])
@pytest.mark.parametrize(("size", "outputs"), [(768, 2304), (5, 3), (17, 50), (33, 1), (64, 7), (16, 16), (24, 49)])
def test_every_number_of_rows(linear, rows, size, outputs):
    check_linear(linear, rows, size, outputs)


@pytest.mark.parametrize("rows", [9, 64, 150])
@pytest.mark.parametrize("size", [767, 768, 769, 1536, 1600, 3072])
def test_rows_that_are_longer_than_what_the_cache_takes_at_once(linear, rows, size):
    check_linear(linear, rows, size, 70)
