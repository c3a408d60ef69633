"""What an error in a claim says of the file that is checked."""

import numpy as np
import pytest

from checker.child.claim_errors import fault_of_check, outcome_of
from checker.claims.vocabulary import Refusal
from checker.numeric.sketches import sketch
from checker.outcomes import ObservedText, RaisedError
from checker.stages import Mark

PATH = "steps/step_90.py"
NUMBERS = np.arange(3.0)


@pytest.mark.parametrize(
    ("seen", "observation"), [(NUMBERS, sketch(NUMBERS)), ("words", ObservedText("words")), (3, ObservedText("3"))]
)
def test_what_a_refusal_has_seen_tells_mistakes_apart(seen, observation):
    outcome = outcome_of(Refusal("It is off.", seen), PATH, "f")
    assert (outcome.mark, outcome.reason, outcome.about) == (Mark.FAIL, "It is off.", "f")
    assert outcome.observation == observation
    assert outcome.is_about_values


def raised_in_file(statement):
    """Return what a statement raises in a function ``f`` of the file."""
    exec(compile(f"def f():\n    {statement}\n", PATH, "exec"), names := {})
    with pytest.raises((NotImplementedError, NameError)) as caught:
        names["f"]()
    return caught.value


def test_what_comes_to_a_blank_waits_for_it_and_any_other_error_is_a_failure():
    stops, lacks = raised_in_file("raise NotImplementedError"), raised_in_file("g()")
    assert outcome_of(stops, PATH, "h", ["f"]).reason == "waits until f is written"
    assert outcome_of(lacks, PATH, "h", ["g"]).mark == Mark.WAITS
    failed = outcome_of(lacks, PATH, "h")
    assert failed.mark == Mark.FAIL
    assert failed.reason == "NameError: name 'g' is not defined"
    assert (failed.location.line, type(failed.observation)) == (2, RaisedError)


def test_an_error_of_the_check_is_put_into_one_line():
    assert "the check itself failed (ValueError: a b)" in fault_of_check(ValueError("a\nb"))
