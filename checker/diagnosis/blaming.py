"""Blame functions for the failures of a file: judge each alone, name its mistake, and make a finding on each claim.

The verdict on the whole file stands. To explain it, the claims about one function are tried again with the solution's
code in all other functions that are wrong or missing (``isolation.py``), so that no function is blamed for another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from checker.diagnosis import causes
from checker.diagnosis.causes import SharedState
from checker.diagnosis.findings import finding_on, finding_that_waits, finding_with_figures, outcomes_without_finding
from checker.diagnosis.grafting import Graft, LearnersFile, Trials
from checker.diagnosis.isolation import Isolation, Judgment
from checker.diagnosis.mistake_finder import Mistake, MistakeFinder
from checker.outcomes import Outcome, Outcomes, failed_outcomes, outcomes_about
from checker.protocol.events import Finding, Reason
from checker.stages import Mark

TOGETHER = "Each function is right alone, but together they are not."


@dataclass(frozen=True)
class CopiedInput:
    """That a function returns the input ``name`` unchanged, by no known mistake."""

    name: str


@dataclass(frozen=True)
class Blame:
    """A function that is to blame.

    Attributes:
        label: the function.
        outcomes: the last outcomes of its failing claims.
        explained_by: its mistake, state that its calls share if that is all that is wrong, or a copied input.
    """

    label: str
    outcomes: Outcomes
    explained_by: Mistake | SharedState | CopiedInput | None

    @property
    def mistake(self) -> Mistake | None:
        """The known mistake that it makes, if any."""
        return self.explained_by if isinstance(self.explained_by, Mistake) else None

    def findings(self) -> list[Finding]:
        """Return a finding on each of its failing claims."""
        return [self._finding(claim, outcome) for claim, outcome in self.outcomes.items()]

    def _finding(self, claim: str, outcome: Outcome) -> Finding:
        match self.explained_by:
            case SharedState(sentence, location):
                return Finding(claim, self.label, Reason(sentence, location))
            case CopiedInput(name):
                return finding_with_figures(claim, self.label, outcome, f"The result is {name}, unchanged.")
            case _:
                return finding_on(claim, self.label, outcome, self.explained_by)


@dataclass(frozen=True)
class Diagnosis:
    """Why a file fails: a finding on each claim, those on the function to fix first in front, and the blames."""

    findings: list[Finding]
    blames: tuple[Blame, ...] = ()


class Blamer:
    """Explains the failures of one file that lie in its functions with a blank.

    The parts outside the blanks that are ``restored`` are put back as the step gives them.
    """

    def __init__(self, file: LearnersFile, finder: MistakeFinder, restored: Collection[Graft], trials: Trials) -> None:
        self.file, self.finder, self.restored, self.trials = file, finder, restored, trials
        self.functions, self.to_write = file.functions, {*file.to_write}

    @cached_property
    def isolation(self) -> Isolation:
        """Judges functions beside the solution's code; it is made only if a file's mistake has no name."""
        return Isolation(self.file, self.restored, self.trials)

    def diagnose(self, outcomes_in_file: Outcomes, file_mistake: Mistake | None) -> Diagnosis:
        """Return why each claim fails.

        If the file makes a known mistake that does not lie in a single wrong function, the mistake explains every
        failure. Else the wrong functions are judged one by one. Then come functions that are right but for state that
        their calls share, and at last functions that only return one of their inputs.

        Args:
            outcomes_in_file: the outcomes of the claims on the file.
            file_mistake: the known mistake that explains all of them, if there is one.
        """
        not_passing = self._not_passing(outcomes_in_file)
        first_claim, first_outcome = next(iter(failed_outcomes(outcomes_in_file).items()))
        known_in = dict[str, Mistake]()
        if file_mistake:
            labels = self.finder.known_mistakes.lies_in[file_mistake.name]
            if len(labels & not_passing.keys()) != 1:
                on_first = finding_on(first_claim, first_outcome.about, first_outcome, file_mistake)
                return _explained_by_first_claim(on_first, outcomes_in_file, not_passing)
            known_in = dict.fromkeys(labels, file_mistake)
        blames = self._blame_wrong(outcomes_in_file, not_passing, known_in)
        blames = self._blame_shared_state(outcomes_in_file, not_passing, blames)
        if not blames:
            on_first = self._finding_if_each_is_right_alone(first_claim, first_outcome)
            return _explained_by_first_claim(on_first, outcomes_in_file, not_passing)
        blames = self._name_copies(blames)
        return Diagnosis(self._findings_on_claims(outcomes_in_file, blames), blames)

    def _not_passing(self, outcomes_in_file: Outcomes) -> dict[str, Outcomes]:
        """Return, for each function that is written, the outcomes of the claims about it that do not hold."""
        failing = {claim: outcome for claim, outcome in outcomes_in_file.items() if outcome.mark is not Mark.PASS}
        labels = dict.fromkeys(outcome.about for outcome in failing.values() if outcome.about not in self.to_write)
        return {label: outcomes_about(label, failing) for label in self._in_order_of_blanks(labels)}

    # ------------------------------------------------------------ each function alone

    def _blame_wrong(
        self, outcomes_in_file: Outcomes, not_passing: Mapping[str, Outcomes], known_in: Mapping[str, Mistake]
    ) -> tuple[Blame, ...]:
        """Return the functions that are to blame, in the order of the step's blanks.

        The functions ``known_in``, whose mistake is known already, need not be judged.
        """
        to_judge = {label: outcomes for label, outcomes in not_passing.items() if label not in known_in}
        judgments = self._judge(to_judge, not_passing)
        last_outcomes = {label: outcomes for label, outcomes in not_passing.items() if label in known_in}
        last_outcomes |= {judgment.label: judgment.outcomes for judgment in judgments}
        failing = {
            label: failed_outcomes(outcomes) for label, outcomes in last_outcomes.items() if failed_outcomes(outcomes)
        }
        unfit = {judgment.label for judgment in judgments if not judgment.fits}
        blames = []
        for label in self._labels_at_fault(self._in_order_of_blanks(failing), unfit):
            mistake = known_in.get(label)
            if mistake is None:
                about_it_in_file = outcomes_about(label, outcomes_in_file)
                ask = partial(self._ask, label, outcomes_in_file)
                mistake = self.finder.find_in_function(label, last_outcomes[label], about_it_in_file, ask)
            blames.append(Blame(label, failing[label], mistake))
        return tuple(blames)

    def _in_order_of_blanks(self, labels: Collection[str]) -> list[str]:
        """Return labels in the order of the step's blanks, behind labels of given parts, such as a class."""
        given = [label for label in labels if label not in self.functions]
        return given + [label for label in self.functions if label in labels]

    def _judge(self, questions: Mapping[str, Outcomes], not_passing: Collection[str]) -> list[Judgment]:
        """Return judgments of functions, and of the other functions that may be behind a claim that changed.

        If only the second round changes a claim, the claim fails not only because of the function that was judged:
        another function is behind it, whose own claims may hold.
        """
        judgments = self.isolation.judge(questions, {*not_passing, *self.to_write})
        changed_outcomes = dict[str, Outcome]()
        for judgment in judgments:
            changed_outcomes |= judgment.before_second_round
        if changed_outcomes:
            others = [label for label in self.functions if label not in not_passing and label not in self.to_write]
            judgments += self.isolation.judge(dict.fromkeys(others, changed_outcomes), self.functions.keys())
        return judgments

    def _labels_at_fault(self, failing: Collection[str], unfit: Collection[str]) -> list[str]:
        """Return which of the functions that fail alone are at fault.

        A function that does not fit the solution's code is not at fault if it calls another one that fails.
        """
        sure = [label for label in failing if label not in unfit]
        return [label for label in failing if label in sure or not self.isolation.callees_among(label, sure)]

    def _ask(self, label: str, outcomes_in_file: Outcomes, claims: Collection[str]) -> Outcomes:
        """Return the outcomes of some claims on a function, with the solution's code in any others."""
        others = self.functions.keys() - {label}
        if not others:
            return {claim: outcomes_in_file[claim] for claim in claims if claim in outcomes_in_file}
        return self.isolation.try_beside({label: others}, {label: claims}).get(label, {})

    # ------------------------------------------------------------ what more can be said

    def _blame_shared_state(
        self, outcomes_in_file: Outcomes, not_passing: Collection[str], blames: tuple[Blame, ...]
    ) -> tuple[Blame, ...]:
        """Return the blames, first those of functions that are right but for state that their calls share."""
        with_known_mistake = {blame.label for blame in blames if blame.mistake and not blame.mistake.is_guess}
        possible = [label for label in not_passing if label not in with_known_mistake]
        shared = causes.find_shared_state(possible, outcomes_in_file, self.file, self.trials)
        sharing = (
            Blame(label, failed_outcomes(outcomes_about(label, outcomes_in_file)), state)
            for label, state in shared.items()
        )
        return *sharing, *(blame for blame in blames if blame.label not in shared)

    def _name_copies(self, blames: tuple[Blame, ...]) -> tuple[Blame, ...]:
        """Return the blames, and of functions that return one of their inputs unchanged, which it is.

        For that, the function's first comparison is made again, with its inputs noted.
        """
        comparisons = {}
        for blame in blames:
            claims = [claim for claim, outcome in blame.outcomes.items() if outcome.comparison]
            if claims and blame.explained_by is None:
                comparisons[blame.label] = claims[:1]
        if not comparisons:
            return blames
        code = self.file.source.compiled(self.file.step_path)
        outcomes = self.trials.run(dict.fromkeys(comparisons, code), comparisons, notes_inputs=True)
        copies = {
            label: CopiedInput(name)
            for label, outcomes_shown in outcomes.items()
            for outcome in outcomes_shown.values()
            if outcome.comparison and (name := outcome.comparison.copied_input())
        }
        return tuple(replace(blame, explained_by=copies.get(blame.label, blame.explained_by)) for blame in blames)

    def _findings_on_claims(self, outcomes_in_file: Outcomes, blames: Sequence[Blame]) -> list[Finding]:
        """Return the findings on all claims that fail: why each fails, or for which function it waits."""
        findings = [finding for blame in blames for finding in blame.findings()]
        labels = [blame.label for blame in blames]
        for claim, outcome in failed_outcomes(outcomes_without_finding(findings, outcomes_in_file)).items():
            if to_wait_for := self.isolation.to_wait_for(outcome.about, labels):
                findings.append(finding_that_waits(claim, outcome.about, to_wait_for))
            else:  # alone, the only wrong function has passed it
                findings.append(finding_on(claim, outcome.about, outcome, blames[0].mistake))
        return findings

    def _finding_if_each_is_right_alone(self, claim: str, outcome: Outcome) -> Finding:
        """Return the finding on a claim if each function is right alone; an error, or the only function, says more."""
        changed_labels = self.isolation.changed_labels - self.to_write
        if outcome.is_error or len(changed_labels) < 2:
            return finding_on(claim, outcome.about, outcome, None)
        return finding_with_figures(claim, outcome.about, outcome, TOGETHER)


def _explained_by_first_claim(
    on_first: Finding, outcomes_in_file: Outcomes, not_passing: Mapping[str, Outcomes]
) -> Diagnosis:
    """Return the diagnosis that one finding, on the first failing claim, explains all: claims about others wait.

    No function was judged alone, so each function that is ``not_passing`` is to blame.
    """
    findings = [on_first]
    for claim, outcome in failed_outcomes(outcomes_in_file).items():
        if outcome.about != on_first.about:
            findings.append(finding_that_waits(claim, outcome.about, [on_first.about]))
    failing = {label: failed_outcomes(outcomes) for label, outcomes in not_passing.items()}
    return Diagnosis(findings, tuple(Blame(label, outcomes, None) for label, outcomes in failing.items() if outcomes))
