"""What a check says last, from lists of events; ``test_advance.py`` has whole checks."""

from dataclasses import replace

import pytest

from checker.protocol.events import Ended, Finding, NumbersCompared, Reason
from checker.protocol.job import Options
from checker.stages import Mark
from tests.dev.checker.parent.test_advance import NUMBERS_RIGHT, ONE_FAILS, OPENED, OTHER, S07, SAVED, folded

#: Options -> how a right file is passed with them, and what is saved of it.
PASS_WITH = {
    "--no-compile": (Options(compile=False), "Pass (2.0 s), not compiled: --no-compile left", [SAVED]),
    "--show": (Options(show="one"), "Pass (2.0 s), not compiled: --show left", [SAVED]),
    "--solution": (Options(is_solution=True, compile=False), "Pass (2.0 s), not compiled: --no-compile", []),
}


@pytest.mark.parametrize(("options", "words", "saved"), PASS_WITH.values(), ids=PASS_WITH)
def test_what_a_pass_leaves_out(options, words, saved):
    _, lines = folded([*NUMBERS_RIGHT, Ended()], replace(S07, options=options))
    assert [line for line in lines if line.startswith(words)]
    assert [line for line in lines if line.startswith("saved")] == saved


def test_of_a_right_function_it_is_said_that_there_are_no_numbers_to_show():
    _, lines = folded([*NUMBERS_RIGHT, Ended()], replace(S07, options=Options(show="one")))
    assert "one has no wrong numbers to show." in lines


def test_numbers_are_shown_if_there_are_wrong_ones():
    context = replace(S07, options=Options(show="one"))
    wrong = [OPENED, ONE_FAILS, Finding("test_one", "one", Reason("Off.", has_numbers=True))]
    assert folded([*wrong, NumbersCompared("one", ["1 2", "1 3"]), Ended()], context)[1][2:4] == ["1 2", "1 3"]
    assert "one has no wrong numbers to show." in folded([*wrong, NumbersCompared("one", ()), Ended()], context)[1]


def test_a_function_that_waits_has_no_numbers_to_show_yet():
    context = replace(S07, options=Options(show="other"))
    wrong = [OPENED, ONE_FAILS, replace(OTHER, mark=Mark.WAITS), Finding("test_one", "one", Reason("Off.")), Ended()]
    assert "other waits, so it has no numbers to show yet." in folded(wrong, context)[1]
