"""What a survey finds wrong with a check."""

import pytest

from checker.events import Mark
from tools.survey import Surveyed


@pytest.mark.parametrize(
    ("subject", "mistakes", "problem"),
    [
        (Surveyed("it", marks={"one": Mark.PASS}), (), ""),
        (Surveyed("it"), (), "refused: no claim was made"),
        (Surveyed("it", marks={"one": Mark.FAIL}, reasons={"one": "It is off."}), (), "refused: one: It is off."),
        (Surveyed("it", marks={"one": Mark.PASS}), {"it"}, "a mistake was accepted"),
        (Surveyed("it", marks={"one": Mark.FAIL}, reasons={"one": ""}, named=["it"]), {"it"}, ""),
        (Surveyed("it", marks={"one": Mark.FAIL}, reasons={"one": ""}), {"it"}, "named as nothing"),
    ],
)
def test_what_a_check_got_wrong_about_a_subject(subject, mistakes, problem):
    assert subject.problem(mistakes) == problem
