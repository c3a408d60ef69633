"""When a file gives the recorded outcomes of a mistake."""

import numpy as np
import pytest

from checker.course import steps
from checker.course.steps import find_step
from checker.diagnosis import mistakes
from checker.numeric.sketches import sketch
from checker.outcomes import Outcome, RaisedError
from checker.stages import Mark
from tests.dev.helpers.steps import every_task


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


@every_task
def test_no_two_mistakes_have_one_key(step):
    keys = mistakes.keys_of_mistakes(step)
    assert len({*keys.values()}) == len(keys)


def test_answers_are_recorded_by_keys_so_that_a_sentence_can_be_mended(tmp_path, monkeypatch):
    monkeypatch.setattr(steps, "REFERENCES", tmp_path)
    monkeypatch.setattr(steps, "TESTS", tmp_path)
    step = find_step("s07")
    step.attempts_file.parent.mkdir()
    (tmp_path / "mistakes").mkdir()
    step.attempts_file.write_text("MISTAKES = {'It is off.': {'x': 'y'}, 'It is on.': {'x': 'z'}}")
    mistakes.write_answers(step, {"It is off.": {"claim": NUMBERS}, "It is on.": {}})
    step.attempts_file.write_text("MISTAKES = {'It is too far.': {'x': 'y'}, 'It is on.': {'x': 'z'}}")
    assert mistakes.read_answers(step) == {"It is too far.": {"claim": NUMBERS}, "It is on.": {}}
    step.attempts_file.write_text("MISTAKES = {'It is too far.': {'x': 'a'}, 'It is on.': {'x': 'z'}}")
    assert mistakes.read_answers(step) is None, "it is another mistake"
