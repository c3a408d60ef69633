"""Blame functions for the failures of a file: judge each alone, name its mistake, and say what of a claim is known.

The verdict on the whole file stands. To explain it, the claims about one function are tried again with the solution's
code in all other functions that are wrong or missing (``isolation.py``), so that no function is blamed for another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from checker.diagnosis import causes
from checker.diagnosis.causes import SharedState, waits
from checker.diagnosis.grafting import Graft, LearnersFile, Trials
from checker.diagnosis.isolation import Isolation, Judgment
from checker.diagnosis.mistake_finder import NO_MISTAKE, Mistake, MistakeFinder
from checker.events import Finding, Mark
from checker.outcomes import Outcome, Outcomes, failed, outcomes_about

TOGETHER = "Each function is right alone, but together they are not."


@dataclass(frozen=True)
class Blame:
    """A function that is to blame.

    Attributes:
        label: the function.
        outcomes: what its failing claims said last.
        mistake: the known one that it makes, if any.
        shared: what its calls share, if it is right but for that.
    """

    label: str
    outcomes: Outcomes
    mistake: Mistake = NO_MISTAKE
    shared: SharedState | None = None

    def findings(self) -> list[Finding]:
        """Return why its claims fail."""
        if shared := self.shared:
            return [Finding(claim, self.label, shared.sentence, shared.location) for claim in self.outcomes]
        return [finding_on(claim, self.label, self.mistake, outcome) for claim, outcome in self.outcomes.items()]


@dataclass(frozen=True)
class Diagnosis:
    """Why a file fails: a finding on each claim, with the function to fix first at the front, and what is blamed."""

    findings: list[Finding]
    blames: tuple[Blame, ...] = ()


def finding_on(claim: str, about: str, mistake: Mistake, outcome: Outcome) -> Finding:
    """Return why a claim fails: the mistake's name, and what was measured; an error's words would say it once more.

    A mistake that is a guess comes behind the error's words.
    """
    location, has_numbers = outcome.location, outcome.comparison is not None
    if mistake.name and not mistake.is_guess:
        figures = outcome.figures if outcome.measured else ""
        sentence = f"{mistake.name} {figures}".rstrip()
        return Finding(claim, about, sentence, location, has_numbers, mistake=mistake.name)
    sentence = outcome.sentence
    if mistake.is_guess:
        sentence += f" Perhaps: {mistake.name}"
    elif outcome.comparison and (tendency := outcome.comparison.tendency()):
        sentence += f" {tendency}"
    return Finding(claim, about, sentence, location, has_numbers, error_key=outcome.error_key, of_max=outcome.of_max)


class Blamer:
    """Explains the failures of one file that lie in its functions with a blank.

    Args:
        file: the learner's.
        finder: finds the known mistakes.
        restored: what is to be as the step gives it, outside the blanks.
        trials: run claims on code that is put together.
    """

    def __init__(self, file: LearnersFile, finder: MistakeFinder, restored: Collection[Graft], trials: Trials) -> None:
        self.file, self.finder, self.restored, self.trials = file, finder, restored, trials
        self.functions, self.to_write = file.functions, {*file.to_write}

    @cached_property
    def isolation(self) -> Isolation:
        """The functions of the file, each beside the solution's code in others; a named file needs none of it."""
        return Isolation(self.file, self.restored, self.trials)

    def diagnose(self, outcomes: Outcomes, file_mistake: str) -> Diagnosis:
        """Return the cause of each failure.

        If the known ``file_mistake``, or nothing, does not lie in a single function that is wrong, it explains every
        failure. Else the wrong functions are judged one by one; then those are found that are right but for what their
        calls share; and at last those that only hand on what they were given.
        """
        failing, wrong = failed(outcomes), self._wrong(outcomes)
        unjudged = tuple(
            Blame(label, failed(its_outcomes)) for label, its_outcomes in wrong.items() if failed(its_outcomes)
        )
        lies_in = self.finder.lies_in(file_mistake)
        if file_mistake and len(lies_in & wrong.keys()) != 1:
            return Diagnosis(_findings_by_one_cause(failing, file_mistake), unjudged)
        blames = self._blame_wrong(outcomes, wrong, file_mistake)
        blames = self._blame_shared_state(outcomes, wrong, blames)
        if not blames:
            return Diagnosis(_findings_by_one_cause(failing, self._together(failing)), unjudged)
        blames = self._name_copies(blames)
        return Diagnosis(self._findings_on_claims(outcomes, blames), blames)

    def _wrong(self, outcomes: Outcomes) -> dict[str, Outcomes]:
        """Return what the claims about each function said that do not hold, but for those that are still to write."""
        failing = {claim: outcome for claim, outcome in outcomes.items() if outcome.mark != Mark.PASS}
        labels = dict.fromkeys(outcome.about for outcome in failing.values())
        return {label: outcomes_about(label, failing) for label in labels if label not in self.to_write}

    # ------------------------------------------------------------ each function alone

    def _blame_wrong(self, outcomes: Outcomes, wrong: Mapping[str, Outcomes], file_mistake: str) -> tuple[Blame, ...]:
        """Return the functions that are to blame, in the order of their claims.

        The one in which a known ``file_mistake`` lies need not be judged.
        """
        lies_in = self.finder.lies_in(file_mistake)
        to_judge = {label: its_outcomes for label, its_outcomes in wrong.items() if label not in lies_in}
        judgments = self._judge(to_judge, wrong)
        alone = {label: wrong[label] for label in wrong if label in lies_in}
        alone |= {judgment.label: judgment.outcomes for judgment in judgments}
        failing = {label: failed(its_outcomes) for label, its_outcomes in alone.items() if failed(its_outcomes)}
        unfit = {judgment.label for judgment in judgments if not judgment.fits}
        in_order = dict.fromkeys([*(outcome.about for outcome in outcomes.values()), *failing])
        blames = []
        for label in self._at_fault([label for label in in_order if label in failing], unfit):
            mistake = Mistake(file_mistake) if label in lies_in else self._mistake_in(label, alone[label], outcomes)
            blames.append(Blame(label, failing[label], mistake))
        return tuple(blames)

    def _mistake_in(self, label: str, alone: Outcomes, outcomes: Outcomes) -> Mistake:
        """Return the known mistake that one function makes, from what claims say of it ``alone`` and of the file."""
        in_file = outcomes_about(label, outcomes)
        candidates, open_claims = self.finder.candidates_in_function(label, alone, in_file)
        if candidates and open_claims:
            more_outcomes = self._ask(label, outcomes, open_claims)
            candidates = self.finder.known_mistakes.agreeing_mistakes(more_outcomes, candidates)
        return self.finder.closest({**in_file, **alone}, candidates)

    def _judge(self, questions: Mapping[str, Outcomes], wrong: Collection[str]) -> list[Judgment]:
        """Return what claims say of single functions, and of those that may be behind a claim that changed.

        A claim that only the second round changes fails not only because of the function that was judged; so another
        one is behind it, whose own claims may hold.
        """
        judgments = self.isolation.judge(questions, {*wrong, *self.to_write})
        changed_outcomes = dict[str, Outcome]()
        for judgment in judgments:
            changed_outcomes |= judgment.changed_in_second_round
        if changed_outcomes:
            others = [label for label in self.functions if label not in wrong and label not in self.to_write]
            judgments += self.isolation.judge(dict.fromkeys(others, changed_outcomes), self.functions.keys())
        return judgments

    def _at_fault(self, failing: Collection[str], unfit: Collection[str]) -> list[str]:
        """Return which of the functions that fail alone are at fault.

        One that does not fit the solution's code is not if it calls another one that fails.
        """
        sure = [label for label in failing if label not in unfit]
        return [label for label in failing if label in sure or not self.isolation.callees_among(label, sure)]

    def _ask(self, label: str, in_file: Outcomes, claims: Collection[str]) -> Outcomes:
        """Return what some claims say of a function with the solution's code in all others, if there are others."""
        others = self.functions.keys() - {label}
        if not others:
            return {claim: in_file[claim] for claim in claims if claim in in_file}
        return self.isolation.try_beside({label: others}, {label: claims}).get(label, {})

    # ------------------------------------------------------------ what more can be said

    def _blame_shared_state(
        self, outcomes: Outcomes, wrong: Collection[str], blames: tuple[Blame, ...]
    ) -> tuple[Blame, ...]:
        """Return what is blamed, first what is right but for what its calls share, unless its mistake is known."""
        with_known_mistake = {blame.label for blame in blames if blame.mistake.name and not blame.mistake.is_guess}
        suspects = causes.first_failures_after_a_pass(
            outcomes, [label for label in wrong if label not in with_known_mistake]
        )
        shared = causes.find_shared_state(outcomes, suspects, self.file, self.trials)
        sharing = (
            Blame(label, failed(outcomes_about(label, outcomes)), shared=state) for label, state in shared.items()
        )
        return *sharing, *(blame for blame in blames if blame.label not in shared)

    def _name_copies(self, blames: tuple[Blame, ...]) -> tuple[Blame, ...]:
        """Return what is blamed; if a result is only what was given, that is the mistake, unless there is another.

        The first comparison is made again, with what the function was given.
        """
        comparisons = {}
        for blame in blames:
            claims = [claim for claim, outcome in blame.outcomes.items() if outcome.comparison]
            if claims and not (blame.mistake.name or blame.shared):
                comparisons[blame.label] = claims[:1]
        if not comparisons:
            return blames
        code = self.file.source.compiled(self.file.step_path)
        outcomes = self.trials.run(dict.fromkeys(comparisons, code), comparisons, show=True)
        copies = {
            label: Mistake(f"The result is {name}, unchanged.")
            for label, its_outcomes in outcomes.items()
            for outcome in its_outcomes.values()
            if outcome.comparison and (name := outcome.comparison.copied())
        }
        return tuple(replace(blame, mistake=copies.get(blame.label, blame.mistake)) for blame in blames)

    def _findings_on_claims(self, outcomes: Outcomes, blames: Iterable[Blame]) -> list[Finding]:
        """Return what is said of each claim: why it fails, or for whom it waits."""
        findings = [finding for blame in blames for finding in blame.findings()]
        labels = [blame.label for blame in blames]
        for claim, outcome in failed(without_finding(findings, outcomes)).items():
            findings.append(waits(claim, outcome.about, self.isolation.to_wait_for(outcome.about, labels)))
        return findings

    def _together(self, failing: Outcomes) -> str:
        """Return what is said if each function is right alone; nothing if an error, or the only function, says more."""
        changed_labels = self.isolation.changed_labels - self.to_write
        first = next(iter(failing.values()))
        return "" if first.is_error or len(changed_labels) < 2 else TOGETHER


def without_finding(findings: Iterable[Finding], outcomes: Outcomes) -> Outcomes:
    """Return the outcomes of the claims on which there is no finding."""
    claims = {finding.claim for finding in findings}
    return {claim: outcome for claim, outcome in outcomes.items() if claim not in claims}


def _findings_by_one_cause(failing: Outcomes, sentence: str) -> list[Finding]:
    """Return what is said of a file in which one cause, in no single function, is behind every failure."""
    (first, outcome), *others = failing.items()
    return [
        finding_on(first, outcome.about, Mistake(sentence), outcome),
        *(waits(claim, other.about, [outcome.about]) for claim, other in others if other.about != outcome.about),
    ]
