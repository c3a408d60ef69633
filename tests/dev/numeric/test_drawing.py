"""What is drawn anew: the same again from the same seed, or after starting over."""

import numpy as np

from checker.numeric.drawing import Draw


def drawn(draw):
    return [draw.settings(), draw.whole("batch", 1, 9), draw.array(3, 4), draw.ids(7, 5), draw.coins(6)]


def test_starting_over_draws_the_same_and_forgets_what_was_said():
    draw = Draw(20261122, avoided=[3, 4])
    first, words = drawn(draw), draw.words
    draw.number("epsilon", 1e-6, 1e-1)
    draw.start_over()
    assert draw.words == ""
    for one, other in zip(first, drawn(draw), strict=True):
        np.testing.assert_equal(other, one)
    assert draw.words == words


def test_another_seed_draws_something_else():
    assert Draw(1).settings() != Draw(2).settings()
