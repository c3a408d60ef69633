"""What is said of a failure by the mistake that is found, and which mistake a function makes."""

from dataclasses import replace

import pytest

from checker.course.reading import Location
from checker.course.source import Source
from checker.course.steps import find_step
from checker.diagnosis.blaming import Blame, Blamer, CopiedInput
from checker.diagnosis.findings import finding_on
from checker.diagnosis.grafting import LearnersFile
from checker.diagnosis.mistake_finder import Mistake, MistakeFinder
from checker.diagnosis.mistakes import KnownMistakes
from checker.outcomes import ObservedText, Outcome, RaisedError
from checker.stages import Mark

OFF_BY_ONE = "The mask is off by one."
MEASURED = Outcome(Mark.FAIL, "the output is off by 0.3.", location=Location(7), is_about_values=True)
ERROR = Outcome(
    Mark.FAIL,
    "line 7: ValueError: [2, 3] is not [2].",
    location=Location(7),
    observation=RaisedError("ValueError", "[2, 3] is not [2]"),
)

#: What is named, what a claim has said -> the sentence, and the mistake that is surely made.
SAID = [
    (Mistake(OFF_BY_ONE), MEASURED, f"{OFF_BY_ONE} The output is off by 0.3.", True),
    (Mistake(OFF_BY_ONE), ERROR, OFF_BY_ONE, True),
    (Mistake(OFF_BY_ONE, is_guess=True), ERROR, f"{ERROR.reason} Perhaps: {OFF_BY_ONE}", False),
    (None, MEASURED, "the output is off by 0.3.", False),
]


@pytest.mark.parametrize(("mistake", "outcome", "sentence", "is_sure"), SAID)
def test_a_mistake_is_said_with_what_was_measured_and_a_guess_behind_the_error(mistake, outcome, sentence, is_sure):
    finding = finding_on("a claim", "causal_mask", outcome, mistake)
    assert (finding.sentence, finding.mistake) == (sentence, mistake.name if is_sure else None)
    assert (finding.claim, finding.about, finding.why.location) == ("a claim", "causal_mask", Location(7))


def test_a_copy_is_said_with_what_was_measured_and_is_no_known_mistake():
    (finding,) = Blame("f", {"a claim": MEASURED}, CopiedInput("x")).findings()
    assert finding.sentence == "The result is x, unchanged. The output is off by 0.3."
    assert (finding.why.sentence, finding.mistake) == ("The result is x, unchanged.", None)


@pytest.mark.parametrize(("other_mark", "mistake"), [(Mark.PASS, None), (Mark.FAIL, Mistake("It is off."))])
def test_a_mistake_that_fails_what_the_only_function_passes_is_not_named(other_mark, mistake):
    """In a step with one blank, what the claims have said of the file is what they say of its function alone."""
    source = "def f(x): return x\n"
    refusal = Outcome(Mark.FAIL, observation=ObservedText("3"), about="f")
    of_mistake = {"a claim": refusal, "another": refusal}
    known = KnownMistakes(find_step("w01"), {"It is off.": of_mistake})
    known.lies_in, known.edits = {"It is off.": {"f"}}, {"It is off.": {}}
    file = LearnersFile(Source(source), "", Source(source), "", "", {"f": "f"}, [])
    outcomes = {**of_mistake, "another": replace(of_mistake["another"], mark=other_mark)}
    (blame,) = Blamer(file, MistakeFinder(file, known), (), None).diagnose(outcomes, None).blames
    assert blame.mistake == mistake


@pytest.mark.parametrize("order", [["of f", "of g", "of C"], ["of g", "of C", "of f"]])
def test_functions_are_blamed_in_the_order_of_the_blanks_whichever_claim_comes_first(order):
    source = "class C: pass\n\ndef f(x): return x\n\ndef g(x): return x\n"
    file = LearnersFile(Source(source), "", Source(source), "", "", {"f": "f", "g": "g"}, [])
    finder = MistakeFinder(file, KnownMistakes.unanswered(find_step("w01")))
    outcomes = {claim: Outcome(Mark.FAIL, observation=ObservedText("3"), about=claim[-1]) for claim in order}
    diagnosis = Blamer(file, finder, (), Trials({})).diagnose(outcomes, None)
    assert [blame.label for blame in diagnosis.blames] == ["C", "f", "g"]


def test_what_the_only_wrong_function_passes_alone_waits_for_no_function():
    mine = "def f(x): return -g(x)\n\ndef g(x): return x + 0\n"
    right = "def f(x): return g(x)\n\ndef g(x): return x\n"
    file = LearnersFile(Source(mine), "", Source(right), "", "", {"f": "f", "g": "g"}, [])
    finder = MistakeFinder(file, KnownMistakes.unanswered(find_step("w01")))
    failed = Outcome(Mark.FAIL, "it is -3.", observation=ObservedText("-3"), about="f")
    passed = {"f": {"by chance": Outcome(Mark.PASS, about="f")}}
    diagnosis = Blamer(file, finder, (), Trials(passed)).diagnose({"always": failed, "by chance": failed}, None)
    assert [(finding.claim, finding.mark) for finding in diagnosis.findings] == [
        ("always", Mark.FAIL),
        ("by chance", Mark.FAIL),
    ]


class Trials:
    """Trials of which the outcomes are given; without any, what claims have said of the file stands."""

    def __init__(self, outcomes):
        self.outcomes = outcomes

    def run(self, codes, claims, *, notes_inputs=False):
        return self.outcomes
