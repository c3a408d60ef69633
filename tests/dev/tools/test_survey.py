"""What a survey finds wrong with a check."""

import pytest

from checker.stages import Mark
from tools.survey import SubjectReport


@pytest.mark.parametrize(
    ("subject", "mistakes", "problem"),
    [
        (SubjectReport("it", marks={"one": Mark.PASS}), (), ""),
        (SubjectReport("it"), (), "refused: no claim was made"),
        (SubjectReport("it", marks={"one": Mark.FAIL}, reasons={"one": "It is off."}), (), "refused: one: It is off."),
        (SubjectReport("it", marks={"one": Mark.PASS}), {"it"}, "a mistake was accepted"),
        (SubjectReport("it", marks={"one": Mark.FAIL}, reasons={"one": ""}, mistake_names=["it"]), {"it"}, ""),
        (SubjectReport("it", marks={"one": Mark.FAIL}, reasons={"one": ""}), {"it"}, "named as nothing"),
    ],
)
def test_what_a_check_got_wrong_about_a_subject(subject, mistakes, problem):
    assert subject.problem(mistakes) == problem
