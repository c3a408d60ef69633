"""What a verdict says of a mistake that has a name."""

import pytest

from checker.session.verdict import adds_to

MISSING = "A missing file raises FileNotFoundError; raise a ValueError that names the file."


@pytest.mark.parametrize(
    ("mistake", "help"),
    [
        (MISSING, "a missing file raises FileNotFoundError, and must raise ValueError."),
        ("The row's sum has lost its axis.", "ValueError: operands could not be broadcast together"),
        ("The head has a bias; a checkpoint has none for it: bias=False.", "The head has a bias: bias=False."),
    ],
)
def test_what_says_the_same_again_is_left_out(mistake, help):
    assert not adds_to(mistake, help)


@pytest.mark.parametrize(
    ("mistake", "help"),
    [
        ("The scores are not scaled: divide them.", "Only the first token is right. The largest difference is 0.5."),
        ("The mask is of floats; make it of bool.", "lookback_mask(7) is float64, and must be bool."),
        ("", "ValueError: operands could not be broadcast together"),
        ("", "a missing file raises FileNotFoundError, and must raise ValueError."),
    ],
)
def test_what_says_more_or_is_all_there_is_stays(mistake, help):
    assert adds_to(mistake, help)
