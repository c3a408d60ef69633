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
from checker.diagnosis.mistake_finder import Mistake, MistakeFinder
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
        copy: the sentence that says so, if it returns only what it was given, by no known mistake.
    """

    label: str
    outcomes: Outcomes
    mistake: Mistake | None = None
    shared: SharedState | None = None
    copy: str | None = None

    def findings(self) -> list[Finding]:
        """Return why its claims fail."""
        if shared := self.shared:
            return [Finding(claim, self.label, shared.sentence, shared.location) for claim in self.outcomes]
        if copy := self.copy:
            return [finding_with_figures(claim, self.label, outcome, copy) for claim, outcome in self.outcomes.items()]
        return [finding_on(claim, self.label, outcome, self.mistake) for claim, outcome in self.outcomes.items()]


@dataclass(frozen=True)
class Diagnosis:
    """Why a file fails: a finding on each claim, with the function to fix first at the front, and what is blamed."""

    findings: list[Finding]
    blames: tuple[Blame, ...] = ()


def finding_on(claim: str, about: str, outcome: Outcome, mistake: Mistake | None) -> Finding:
    """Return why a claim fails: by the name of a known mistake, or else in the claim's own words.

    A mistake that is a guess comes behind these.
    """
    if mistake and not mistake.is_guess:
        return finding_with_figures(claim, about, outcome, mistake.name, mistake.name)
    sentence = outcome.sentence
    if mistake:
        sentence += f" Perhaps: {mistake.name}"
    elif outcome.comparison and (tendency := outcome.comparison.tendency()):
        sentence += f" {tendency}"
    return Finding(
        claim,
        about,
        sentence,
        outcome.location,
        has_numbers=outcome.comparison is not None,
        error_key=outcome.error_key,
        of_max=outcome.of_max,
    )


def finding_with_figures(
    claim: str, about: str, outcome: Outcome, sentence: str, known_mistake: str | None = None
) -> Finding:
    """Return that a claim fails for the reason in a sentence, with what was measured; an error would say it twice."""
    figures = outcome.figures if outcome.measured else ""
    return Finding(
        claim,
        about,
        sentence,
        outcome.location,
        has_numbers=outcome.comparison is not None,
        figures=figures,
        mistake=known_mistake,
    )


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

    def diagnose(self, outcomes_in_file: Outcomes, file_mistake: Mistake | None) -> Diagnosis:
        """Return the cause of each failure.

        If the file makes a known mistake that does not lie in a single function that is wrong, this explains every
        failure. Else the wrong functions are judged one by one; then those are found that are right but for what their
        calls share; and at last those that only hand on what they were given.

        Args:
            outcomes_in_file: what the claims said of the file.
            file_mistake: the known mistake that explains all of them, if there is one.
        """
        failing, wrong = failed(outcomes_in_file), self._wrong(outcomes_in_file)
        unjudged = tuple(Blame(label, failed(outcomes)) for label, outcomes in wrong.items() if failed(outcomes))
        first_claim, first_outcome = next(iter(failing.items()))
        known_in = dict[str, Mistake]()
        if file_mistake:
            known_in = dict.fromkeys(self.finder.known_mistakes.lies_in[file_mistake.name], file_mistake)
            if len(known_in.keys() & wrong.keys()) != 1:
                on_first = finding_on(first_claim, first_outcome.about, first_outcome, file_mistake)
                return Diagnosis(_first_fails_and_others_wait(on_first, failing), unjudged)
        blames = self._blame_wrong(outcomes_in_file, wrong, known_in)
        blames = self._blame_shared_state(outcomes_in_file, wrong, blames)
        if not blames:
            on_first = self._finding_if_each_is_right_alone(first_claim, first_outcome)
            return Diagnosis(_first_fails_and_others_wait(on_first, failing), unjudged)
        blames = self._name_copies(blames)
        return Diagnosis(self._findings_on_claims(outcomes_in_file, blames), blames)

    def _wrong(self, outcomes_in_file: Outcomes) -> dict[str, Outcomes]:
        """Return what the claims about each function said that do not hold, but for those that are still to write."""
        failing = {claim: outcome for claim, outcome in outcomes_in_file.items() if outcome.mark != Mark.PASS}
        labels = dict.fromkeys(outcome.about for outcome in failing.values() if outcome.about not in self.to_write)
        return {label: outcomes_about(label, failing) for label in self._in_order_of_blanks(labels)}

    # ------------------------------------------------------------ each function alone

    def _blame_wrong(
        self, outcomes_in_file: Outcomes, wrong: Mapping[str, Outcomes], known_in: Mapping[str, Mistake]
    ) -> tuple[Blame, ...]:
        """Return the functions that are to blame, in the order of the step's blanks.

        Those whose mistake is known already, ``known_in``, need not be judged.
        """
        to_judge = {label: outcomes for label, outcomes in wrong.items() if label not in known_in}
        judgments = self._judge(to_judge, wrong)
        last_outcomes = {label: outcomes for label, outcomes in wrong.items() if label in known_in}
        last_outcomes |= {judgment.label: judgment.outcomes for judgment in judgments}
        failing = {label: failed(outcomes) for label, outcomes in last_outcomes.items() if failed(outcomes)}
        unfit = {judgment.label for judgment in judgments if not judgment.fits}
        blames = []
        for label in self._at_fault(self._in_order_of_blanks(failing), unfit):
            mistake = known_in.get(label)
            if mistake is None:
                mistake = self._mistake_in(label, last_outcomes[label], outcomes_in_file)
            blames.append(Blame(label, failing[label], mistake))
        return tuple(blames)

    def _in_order_of_blanks(self, labels: Collection[str]) -> list[str]:
        """Return labels in the order of the step's blanks, behind those of what the step gives, such as a class."""
        given = [label for label in labels if label not in self.functions]
        return given + [label for label in self.functions if label in labels]

    def _mistake_in(self, label: str, outcomes_alone: Outcomes, outcomes_in_file: Outcomes) -> Mistake | None:
        """Return the known mistake that one function makes, if any, from what claims say of it and of the file."""
        about_it_in_file = outcomes_about(label, outcomes_in_file)
        candidates, open_claims = self.finder.candidates_in_function(label, outcomes_alone, about_it_in_file)
        if candidates and open_claims:
            more_outcomes_alone = self._ask(label, outcomes_in_file, open_claims)
            candidates = self.finder.known_mistakes.agreeing_mistakes(more_outcomes_alone, candidates)
        return self.finder.closest({**about_it_in_file, **outcomes_alone}, candidates)

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

    def _ask(self, label: str, outcomes_in_file: Outcomes, claims: Collection[str]) -> Outcomes:
        """Return what some claims say of a function with the solution's code in all others, if there are others."""
        others = self.functions.keys() - {label}
        if not others:
            return {claim: outcomes_in_file[claim] for claim in claims if claim in outcomes_in_file}
        return self.isolation.try_beside({label: others}, {label: claims}).get(label, {})

    # ------------------------------------------------------------ what more can be said

    def _blame_shared_state(
        self, outcomes_in_file: Outcomes, wrong: Collection[str], blames: tuple[Blame, ...]
    ) -> tuple[Blame, ...]:
        """Return what is blamed, first what is right but for what its calls share, unless its mistake is known."""
        with_known_mistake = {blame.label for blame in blames if blame.mistake and not blame.mistake.is_guess}
        possible = [label for label in wrong if label not in with_known_mistake]
        suspects = causes.first_failures_after_a_pass(outcomes_in_file, possible)
        shared = causes.find_shared_state(outcomes_in_file, suspects, self.file, self.trials)
        sharing = (
            Blame(label, failed(outcomes_about(label, outcomes_in_file)), shared=state)
            for label, state in shared.items()
        )
        return *sharing, *(blame for blame in blames if blame.label not in shared)

    def _name_copies(self, blames: tuple[Blame, ...]) -> tuple[Blame, ...]:
        """Return what is blamed, with a sentence on each function that returns what it was given, for no other reason.

        Its first comparison is made again, with what the function was given.
        """
        comparisons = {}
        for blame in blames:
            claims = [claim for claim, outcome in blame.outcomes.items() if outcome.comparison]
            if claims and not (blame.mistake or blame.shared):
                comparisons[blame.label] = claims[:1]
        if not comparisons:
            return blames
        code = self.file.source.compiled(self.file.step_path)
        outcomes = self.trials.run(dict.fromkeys(comparisons, code), comparisons, show=True)
        copies = {
            label: f"The result is {name}, unchanged."
            for label, outcomes_shown in outcomes.items()
            for outcome in outcomes_shown.values()
            if outcome.comparison and (name := outcome.comparison.copied())
        }
        return tuple(replace(blame, copy=copies.get(blame.label)) for blame in blames)

    def _findings_on_claims(self, outcomes_in_file: Outcomes, blames: Iterable[Blame]) -> list[Finding]:
        """Return what is said of each claim: why it fails, or for whom it waits."""
        findings = [finding for blame in blames for finding in blame.findings()]
        labels = [blame.label for blame in blames]
        for claim, outcome in failed(without_finding(findings, outcomes_in_file)).items():
            findings.append(waits(claim, outcome.about, self.isolation.to_wait_for(outcome.about, labels)))
        return findings

    def _finding_if_each_is_right_alone(self, claim: str, outcome: Outcome) -> Finding:
        """Return why a claim fails though each function is right alone; an error, or the only function, says more."""
        changed_labels = self.isolation.changed_labels - self.to_write
        if outcome.is_error or len(changed_labels) < 2:
            return finding_on(claim, outcome.about, outcome, None)
        return finding_with_figures(claim, outcome.about, outcome, TOGETHER)


def without_finding(findings: Iterable[Finding], outcomes: Outcomes) -> Outcomes:
    """Return the outcomes of the claims on which there is no finding."""
    claims = {finding.claim for finding in findings}
    return {claim: outcome for claim, outcome in outcomes.items() if claim not in claims}


def _first_fails_and_others_wait(on_first: Finding, failing: Outcomes) -> list[Finding]:
    """Return the finding on the first claim that fails, and that the claims about other functions wait for its own."""
    others = {claim: outcome.about for claim, outcome in failing.items() if outcome.about != on_first.about}
    return [on_first, *(waits(claim, about, [on_first.about]) for claim, about in others.items())]
