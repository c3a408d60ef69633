"""What is said of a failure by the mistake that is found, and which mistake a function makes."""

from dataclasses import replace

import pytest

from checker.course.reading import Location
from checker.course.source import Source
from checker.course.steps import find_step
from checker.diagnosis.blaming import Blamer, finding_on
from checker.diagnosis.grafting import LearnersFile
from checker.diagnosis.mistake_finder import NO_MISTAKE, Mistake, MistakeFinder
from checker.diagnosis.mistakes import KnownMistakes
from checker.events import Mark
from checker.outcomes import Outcome, RaisedError, RefusalWords

MEASURED = Outcome(Mark.FAIL, "the output is off by 0.3.", location=Location(7), measured=True)
ERROR = Outcome(
    Mark.FAIL,
    "line 7: ValueError: [2, 3] is not [2].",
    location=Location(7),
    observation=RaisedError("ValueError", "[2, 3] is not [2]"),
)

#: What is named, what a claim has said -> the sentence, and the mistake that is surely made.
SAID = [
    (Mistake("The mask is off by one."), MEASURED, "The mask is off by one. The output is off by 0.3.", True),
    (Mistake("The mask is off by one."), ERROR, "The mask is off by one.", True),
    (
        Mistake("The mask is off by one.", is_guess=True),
        ERROR,
        f"{ERROR.sentence} Perhaps: The mask is off by one.",
        False,
    ),
    (NO_MISTAKE, MEASURED, "the output is off by 0.3.", False),
]


@pytest.mark.parametrize(("mistake", "outcome", "sentence", "is_sure"), SAID)
def test_a_mistake_is_said_with_what_was_measured_and_a_guess_behind_the_error(mistake, outcome, sentence, is_sure):
    finding = finding_on("a claim", "causal_mask", mistake, outcome)
    assert (finding.sentence, finding.mistake) == (sentence, mistake.name if is_sure else "")
    assert (finding.claim, finding.about, finding.location) == ("a claim", "causal_mask", Location(7))


@pytest.mark.parametrize(("other_mark", "name"), [(Mark.PASS, ""), (Mark.FAIL, "It is off.")])
def test_a_mistake_that_fails_what_the_only_function_passes_is_not_named(other_mark, name):
    """In a step with one blank, what the claims have said of the file is what they say of its function alone."""
    source = "def f(x): return x\n"
    refusal = Outcome(Mark.FAIL, observation=RefusalWords("3"), about="f")
    of_mistake = {"a claim": refusal, "another": refusal}
    known = KnownMistakes(find_step("w01"), {"It is off.": of_mistake})
    known.lies_in, known.edits = {"It is off.": {"f"}}, {"It is off.": {}}
    file = LearnersFile(Source(source), "", Source(source), "", "", {"f": "f"}, [])
    outcomes = {**of_mistake, "another": replace(of_mistake["another"], mark=other_mark)}
    (blame,) = Blamer(file, MistakeFinder(file, known), (), None).diagnose(outcomes, "").blames
    assert blame.mistake == Mistake(name)
