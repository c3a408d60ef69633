"""What is said of a failure; two mistakes in one file are both named, each judged beside the solution's code."""

import contextlib
import itertools
import random
import re
from types import SimpleNamespace

import pytest

from checker.course.blanks import blanks_of
from checker.course.source import Source
from checker.course.steps import Step, find_step
from checker.diagnosis.causes import AS_GIVEN, AS_IT_IS
from checker.diagnosis.diagnosing import Diagnostician
from checker.diagnosis.mistakes import KnownMistakes, apply_edits, functions_changed_by, load_attempts
from checker.outcomes import Outcome
from checker.stages import Mark
from tests.dev.helpers.steps import every_step, with_several_blanks
from tools.survey import survey

PAIRS = 5  # of a step


def test_a_kernel_may_fail_a_claim_that_is_about_no_function_to_write():
    diagnostician = Diagnostician(find_step("s21"), None, KnownMistakes.unanswered(find_step("s21")))
    diagnosis = diagnostician.diagnose({"a claim": Outcome(Mark.FAIL, "It is off.")}, Source(""), "")
    assert [finding.sentence for finding in diagnosis.findings] == ["It is off."]


@pytest.mark.parametrize(("known", "is_named"), [(KnownMistakes.unanswered, True), (KnownMistakes.unnamed, False)])
def test_a_changed_given_part_has_the_name_of_a_known_mistake_but_in_no_hunt(known, is_named):
    step, mistake = find_step("s05"), "Negative ids are let through; they would count from the end of the table."
    source = Source(apply_edits(step.read_solution().text, load_attempts(step).mistakes[mistake]))
    as_it_is, as_given = {"a claim": Outcome(Mark.FAIL, "It is off.")}, {"a claim": Outcome(Mark.PASS)}
    trials = SimpleNamespace(run=lambda codes, claims: {AS_IT_IS: as_it_is, AS_GIVEN: as_given})
    (finding,) = Diagnostician(step, trials, known(step)).diagnose(as_it_is, source, "").findings
    assert (finding.about, finding.mistake) == ("check_token_ids", mistake if is_named else None)


@every_step
def test_the_claims_of_a_step_come_to_its_blanks_in_their_order(step: Step):
    """Of a cause that lies in no single blank, the first claim that fails is explained."""
    labels = re.findall(r'^@about\("(\w+)"\)$', step.check_file.read_text(), re.MULTILINE)
    blanks = [blank.label for blank in blanks_of(step)]
    assert [label for label in dict.fromkeys(labels) if label in blanks] == blanks


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
                apply_edits(solution.text, edits)
                yield (first, second), edits


@pytest.mark.slow
@pytest.mark.sampled
@with_several_blanks
def test_two_mistakes_at_once_are_both_named(step: Step, pytestconfig):
    seed = pytestconfig.option.seed
    drawn = dict(itertools.islice(pairs_of(step, seed), PAIRS))
    subjects = {" | ".join(pair): edits for pair, edits in drawn.items()}
    reports = {report.name: report for report in survey(step, subjects, seed=seed).reports}
    assert [name for name, report in reports.items() if report.accepted or report.happened] == []
    unnamed = [pair for pair in drawn if not {*pair} <= {*reports[" | ".join(pair)].mistake_names}]
    assert len(unnamed) <= 1, unnamed  # one in 500 is named in part
