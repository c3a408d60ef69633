"""When a file gives the recorded outcomes of a mistake."""

import numpy as np
import pytest

from checker.course.steps import find_step
from checker.diagnosis import mistakes
from checker.numeric.sketches import sketch
from checker.outcomes import Outcome, RaisedError
from checker.protocol.events import Mark


def error(text):
    return Outcome(Mark.FAIL, observation=RaisedError("ValueError", text))


NUMBERS = Outcome(Mark.FAIL, observation=sketch(np.arange(3.0)))


@pytest.mark.parametrize(
    ("seen", "answer", "numbers", "letter"),
    [
        (error("[2, 3] is not [2]"), error("[2, 3] is not [2]"), False, True),
        (error("[2, 3] is not [2]"), error("[4, 3] is not [4]"), False, False),
        (error("gather index 33 is not below 15"), error("gather index 20 is not below 15"), False, True),
        (error("gather index 33 is not below 15"), error("gather index 33 is not below 16"), False, False),
        (NUMBERS, NUMBERS, True, False),
        (NUMBERS, error("[4, 3] is not [4]"), False, False),  # they do not agree
    ],
)
def test_a_mistake_is_known_by_numbers_or_by_an_error_to_the_letter(seen, answer, numbers, letter):
    assert mistakes.agrees_by_numbers({"claim": seen}, {"claim": answer}) == numbers
    assert mistakes.agrees_to_the_letter({"claim": seen}, {"claim": answer}) == letter


def test_a_claim_that_waits_for_a_blank_rules_no_mistake_out():
    known = mistakes.KnownMistakes(find_step("s07"), {"it": {"one": NUMBERS, "other": Outcome(Mark.PASS)}})
    assert known.agreeing_mistakes({"one": NUMBERS, "other": Outcome(Mark.WAITS)}, ["it"]) == ["it"]
    assert known.agreeing_mistakes({"one": NUMBERS, "other": NUMBERS}, ["it"]) == []
