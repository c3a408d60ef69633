"""When a file gives the recorded outcomes of a mistake."""

import numpy as np
import pytest

from checker.diagnosis import mistakes
from checker.diagnosis.outcomes import Outcome, Raised, sketch
from checker.events import FAIL


def error(text):
    return Outcome(FAIL, observed=Raised("ValueError", text))


NUMBERS = Outcome(FAIL, observed=sketch(np.arange(3.0)))


@pytest.mark.parametrize(
    ("seen", "answer", "numbers", "letter"),
    [
        (error("[2, 3] is not [2]"), error("[2, 3] is not [2]"), False, True),
        (error("[2, 3] is not [2]"), error("[4, 3] is not [4]"), False, False),
        (error("gather index 33 is not below 15"), error("gather index 20 is not below 15"), False, True),
        (error("gather index 33 is not below 15"), error("gather index 33 is not below 16"), False, False),
        (NUMBERS, NUMBERS, True, True),
        (NUMBERS, error("[4, 3] is not [4]"), False, True),  # they do not agree
    ],
)
def test_a_mistake_is_known_by_numbers_or_by_an_error_to_the_letter(seen, answer, numbers, letter):
    assert mistakes.by_numbers({"claim": seen}, {"claim": answer}) == numbers
    assert mistakes.to_the_letter({"claim": seen}, {"claim": answer}) == letter
