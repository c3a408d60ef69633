"""Values of the page on speed."""

import pytest

from tools.book_maker.values import speed


def test_the_share_of_the_limit_is_the_one_that_was_recorded_with_the_libraries():
    """It was computed from the bytes that the model reads, by the tool that measured; here from the sizes alone."""
    measured = speed.chosen["parts"]["generation"]["1 x 16"]["share"][speed.OURS]
    assert 100 * speed.rate(speed.OURS) / speed.most_tokens() == pytest.approx(measured, abs=0.5)


def test_gains_are_ratios():
    assert speed.gain("this course, Q4_0", "this course, with kernels") == "2.6 | 2.0"
    assert speed.cache_gain() == "1.4 | 12"
    assert speed.saved() == pytest.approx(12 * (17.2 - 6.26) / 1000, abs=1e-3)
    assert speed.prompt("CTranslate2") == pytest.approx(546, abs=0.5)
    assert speed.best_is_ahead(speed.ZEN_3) == pytest.approx(100 * (1227.6 / 1084.2 - 1), abs=0.1)
