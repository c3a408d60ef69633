"""What is said of a failure; two mistakes in one file are both named, each judged beside the solution's code."""

import contextlib
import itertools
import random
from dataclasses import replace

import pytest

from checker.course.reading import Location
from checker.course.source import Source
from checker.course.steps import Step, find_step
from checker.diagnosis.diagnosing import Blamer, Diagnostician, finding_on
from checker.diagnosis.grafting import LearnersFile
from checker.diagnosis.mistake_finder import NO_MISTAKE, FoundMistake, MistakeFinder
from checker.diagnosis.mistakes import KnownMistakes, edited, functions_changed_by, load_attempts
from checker.events import Mark
from checker.outcomes import InWords, Outcome, Raised
from tests.dev.journeys.test_checks import with_several_blanks
from tools.survey import survey

PAIRS = 5  # of a step

MEASURED = Outcome(Mark.FAIL, "the output is off by 0.3.", location=Location(7), measured=True)
ERROR = Outcome(
    Mark.FAIL,
    "line 7: ValueError: [2, 3] is not [2].",
    location=Location(7),
    observed=Raised("ValueError", "[2, 3] is not [2]"),
)

#: What is named, what a claim has said -> the sentence, and the mistake that is surely made.
SAID = [
    (FoundMistake("The mask is off by one."), MEASURED, "The mask is off by one. The output is off by 0.3.", True),
    (FoundMistake("The mask is off by one."), ERROR, "The mask is off by one.", True),
    (
        FoundMistake("The mask is off by one.", is_guess=True),
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
    of_mistake = {claim: Outcome(Mark.FAIL, observed=InWords("3"), about="f") for claim in ("a claim", "another")}
    known = KnownMistakes(find_step("w01"), {"It is off.": of_mistake})
    known.lies_in, known.edits = {"It is off.": {"f"}}, {"It is off.": {}}
    file = LearnersFile(Source(source), "", Source(source), "", "", {"f": "f"}, [])
    outcomes = {**of_mistake, "another": replace(of_mistake["another"], mark=other_mark)}
    (blame,) = Blamer(file, MistakeFinder(file, known), (), None).diagnose(outcomes, "").blames
    assert blame.mistake == FoundMistake(name)


def test_a_kernel_may_fail_a_claim_that_is_about_no_function_to_write():
    diagnostician = Diagnostician(find_step("s21"), None, KnownMistakes.unanswered(find_step("s21")))
    diagnosis = diagnostician.diagnose({"a claim": replace(MEASURED, about="")}, Source(""), "")
    assert [finding.sentence for finding in diagnosis.findings] == [MEASURED.sentence]


def pairs_of(step: Step, seed: int):
    """Yield pairs of mistakes in any order, each of which lies in another function, and how to make both."""
    solution, mistakes = step.read_solution(), load_attempts(step).mistakes
    lies_in = {name: functions_changed_by(solution, edits) for name, edits in mistakes.items()}
    pairs = list(itertools.combinations((name for name in mistakes if len(lies_in[name]) == 1), 2))
    random.Random(f"{seed} {step.name}").shuffle(pairs)
    for first, second in pairs:
        edits = {**mistakes[first], **mistakes[second]}
        if lies_in[first] != lies_in[second]:
            with contextlib.suppress(ValueError):  # they touch the same text
                edited(solution.text, edits)
                yield (first, second), edits


@pytest.mark.slow
@pytest.mark.third
@with_several_blanks
def test_two_mistakes_at_once_are_both_named(step: Step, pytestconfig):
    seed = pytestconfig.option.seed
    drawn = dict(itertools.islice(pairs_of(step, seed), PAIRS))
    subjects = {" | ".join(pair): edits for pair, edits in drawn.items()}
    surveyed = {subject.name: subject for subject in survey(step, subjects, seed=seed).subjects}
    assert [name for name, subject in surveyed.items() if subject.accepted or subject.happened] == []
    unnamed = [pair for pair in drawn if not {*pair} <= {*surveyed[" | ".join(pair)].named}]
    assert len(unnamed) <= 1, unnamed  # one in 500 is named in part
