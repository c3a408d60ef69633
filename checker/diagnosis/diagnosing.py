"""Diagnose a failure: settle what lies in no single blank, then judge each function alone and name its mistake.

The verdict on the whole file stands. To explain it, the claims about one function are tried again with the solution's
code in all other functions that are wrong or missing (``isolation.py``), so that no function is blamed for another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

from checker.course.blanks import blanks_of
from checker.course.languages import PYTHON
from checker.course.source import Source
from checker.course.steps import Step
from checker.diagnosis import causes
from checker.diagnosis.causes import SharedState, waits
from checker.diagnosis.grafting import Graft, LearnersFile, Trials
from checker.diagnosis.isolation import Isolation, Judgment
from checker.diagnosis.mistake_finder import NO_MISTAKE, FoundMistake, MistakeFinder
from checker.diagnosis.mistakes import KnownMistakes, edited
from checker.diagnosis.outside_blanks import changed_lines, reordered
from checker.events import Finding, Mark
from checker.outcomes import Outcome, Outcomes, failed, outcomes_about

TOGETHER = "Each function is right alone, but together they are not."


@dataclass(frozen=True)
class Blame:
    """A function that is to blame.

    Attributes:
        label: the function.
        outcomes: what its failing claims said last.
        found: the known mistake that it makes, if any.
        shared: what its calls share, if it is right but for that.
    """

    label: str
    outcomes: Outcomes
    found: FoundMistake = NO_MISTAKE
    shared: SharedState | None = None

    def findings(self) -> list[Finding]:
        """Return why its claims fail."""
        if shared := self.shared:
            return [Finding(claim, self.label, shared.sentence, shared.location) for claim in self.outcomes]
        return [finding_on(claim, self.label, self.found, outcome) for claim, outcome in self.outcomes.items()]


@dataclass(frozen=True)
class Diagnosis:
    """Why a file fails: a finding on each claim, with the function to fix first at the front, and what is blamed."""

    findings: list[Finding]
    blamed: tuple[Blame, ...] = ()


def finding_on(claim: str, about: str, found: FoundMistake, outcome: Outcome) -> Finding:
    """Return why a claim fails: the mistake's name, and what was measured; an error's words would say it once more.

    A mistake that is a guess comes behind the error's words.
    """
    location, has_numbers = outcome.location, outcome.compared is not None
    if found.mistake and not found.is_guess:
        figures = outcome.figures if outcome.measured else ""
        sentence = f"{found.mistake} {figures}".rstrip()
        return Finding(claim, about, sentence, location, has_numbers, mistake=found.mistake)
    sentence = outcome.sentence
    if found.is_guess:
        sentence += f" Perhaps: {found.mistake}"
    elif outcome.compared and (tendency := outcome.compared.tendency()):
        sentence += f" {tendency}"
    return Finding(claim, about, sentence, location, has_numbers, error_key=outcome.error_key, of_max=outcome.of_max)


class Diagnostician:
    """Finds out why claims of a step fail, of one file or of many.

    Args:
        step: whose claims.
        trials: run claims on code that is put together.
        known: the mistakes that can be named; none, if the claims that failed are about a configuration drawn anew.
    """

    def __init__(self, step: Step, trials: Trials, known: KnownMistakes) -> None:
        self.step, self.trials, self.known = step, trials, known
        self.solution = step.read_solution()
        self.functions = {blank.label: blank.function for blank in blanks_of(step)}

    def diagnose(self, outcomes: Outcomes, source: Source, path: str, to_write: Collection[str] = ()) -> Diagnosis:
        """Return the cause of each failure of a file.

        What lies in no single blank is settled first. The rest is a known mistake of the file, or functions are blamed.

        Args:
            outcomes: what the claims said of it.
            source: the file.
            path: where it is.
            to_write: the labels of the functions that are still to write.
        """
        if self.step.language is not PYTHON:
            return self._diagnose_kernel(outcomes)
        solution_path, step_path = str(self.step.solution_file), str(self.step.learner_file)
        file = LearnersFile(source, path, self.solution, solution_path, step_path, self.functions, to_write)
        finder = MistakeFinder(file, self.known)
        settled, restored = self._settle(outcomes, file, finder)
        left = _without_finding(settled, outcomes)
        if not failed(left):
            return Diagnosis(settled)
        mistake = finder.find_in_file(left)
        of_functions = Blamer(file, finder, restored, self.trials).diagnose(left, mistake)
        return replace(of_functions, findings=settled + of_functions.findings)

    def _settle(
        self, outcomes: Outcomes, file: LearnersFile, finder: MistakeFinder
    ) -> tuple[list[Finding], Collection[Graft]]:
        """Return what is said of missing names and of something given that was changed, and what to give as it was.

        A known mistake that explains the whole file says more than that something was changed, but for parameters in
        another order, with which it may fail alike.
        """
        of_names = causes.findings_on_missing_names(failed(outcomes), file)
        left = _without_finding(of_names, outcomes)
        in_other_order = reordered(file.source, self.solution)
        if finder.find_in_file(left) and not in_other_order:
            return of_names, ()
        likely_named = self._likely_named(left) - in_other_order
        of_the_given, restored = causes.findings_on_changes(failed(left), file, self.trials, likely_named)
        return of_names + self._by_their_names(of_the_given, file.source), restored

    def _by_their_names(self, findings: list[Finding], source: Source) -> list[Finding]:
        """Return what is said of something given, by the name of the known mistake that changes the same, if any."""
        changed = changed_lines(source, self.solution) if findings else set()
        for name, edits in self.known.edits.items():
            if changed and changed_lines(Source(edited(self.solution.text, edits)), self.solution) == changed:
                return [
                    replace(finding, sentence=name, mistake=name) if finding.mark == Mark.FAIL else finding
                    for finding in findings
                ]
        return findings

    def _likely_named(self, outcomes: Outcomes) -> set[str]:
        """Return the functions, by qualified names, whose own claims are answered as by a known mistake in them."""
        labels = {outcome.about for outcome in failed(outcomes).values()} & self.functions.keys()
        return {
            self.functions[label]
            for label in labels
            if self.known.agreeing_mistakes(outcomes_about(label, outcomes), self.known.mistakes_only_in(label))
        }

    def _diagnose_kernel(self, outcomes: Outcomes) -> Diagnosis:
        """Return what each failure of a kernel comes from, without compiling another: the first function that is wrong.

        Every function of a kernel calls those before it and none after it, so one that comes later has to wait.
        """
        failing = failed(outcomes)
        wrong = {outcome.about for outcome in failing.values()}
        first = next((label for label in self.functions if label in wrong), next(iter(failing.values())).about)
        about_first, possible = outcomes_about(first, outcomes), self.known.mistakes_only_in(first)
        names = [
            *self.known.agreeing_mistakes(outcomes, possible),
            *self.known.agreeing_mistakes(about_first, possible),
        ]
        blame = Blame(first, failed(about_first), FoundMistake(names[0]) if names else NO_MISTAKE)
        findings = [
            finding_on(claim, first, blame.found, outcome)
            if outcome.about == first
            else waits(claim, outcome.about, [first])
            for claim, outcome in failing.items()
        ]
        return Diagnosis(findings, (blame,))


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

    def diagnose(self, outcomes: Outcomes, mistake: str) -> Diagnosis:
        """Return the cause of each failure.

        If the known ``mistake`` of the whole file, or nothing, does not lie in a single function that is wrong, it
        explains every failure. Else the wrong functions are judged one by one; then those are found that are right but
        for what their calls share; and at last those that only hand on what they were given.
        """
        failing, wrong = failed(outcomes), self._wrong(outcomes)
        unjudged = tuple(Blame(label, failed(seen)) for label, seen in wrong.items() if failed(seen))
        lies_in = self.finder.lies_in(mistake)
        if mistake and len(lies_in & wrong.keys()) != 1:
            return Diagnosis(_findings_by_one_cause(failing, mistake), unjudged)
        alone = self._blame_wrong(outcomes, wrong, mistake)
        with_shared = self._blame_shared_state(outcomes, wrong, alone)
        if not with_shared:
            return Diagnosis(_findings_by_one_cause(failing, self._together(failing)), unjudged)
        named = self._name_copies(with_shared)
        return Diagnosis(self._findings_on_claims(outcomes, named), named)

    def _wrong(self, outcomes: Outcomes) -> dict[str, Outcomes]:
        """Return what the claims about each function said that do not hold, but for those that are still to write."""
        failing = {claim: outcome for claim, outcome in outcomes.items() if outcome.mark != Mark.PASS}
        labels = dict.fromkeys(outcome.about for outcome in failing.values())
        return {label: outcomes_about(label, failing) for label in labels if label not in self.to_write}

    # ------------------------------------------------------------ each function alone

    def _blame_wrong(self, outcomes: Outcomes, wrong: Mapping[str, Outcomes], mistake: str) -> tuple[Blame, ...]:
        """Return the functions that are to blame, in the order of their claims.

        The one in which a known ``mistake`` of the file lies need not be judged.
        """
        lies_in = self.finder.lies_in(mistake)
        judged = self._judge({label: seen for label, seen in wrong.items() if label not in lies_in}, wrong)
        alone = {label: wrong[label] for label in wrong if label in lies_in}
        alone |= {function.label: function.outcomes for function in judged}
        failing = {label: failed(seen) for label, seen in alone.items() if failed(seen)}
        unfit = {function.label for function in judged if not function.fits}
        in_order = dict.fromkeys([*(outcome.about for outcome in outcomes.values()), *failing])
        blamed = []
        for label in self._at_fault([label for label in in_order if label in failing], unfit):
            found = FoundMistake(mistake)
            if label not in lies_in:
                ask = partial(self._ask, label, outcomes)
                found = self.finder.find_in_function(label, alone[label], outcomes_about(label, outcomes), ask)
            blamed.append(Blame(label, failing[label], found))
        return tuple(blamed)

    def _judge(self, questions: Mapping[str, Outcomes], wrong: Collection[str]) -> list[Judgment]:
        """Return what claims say of single functions, and of those that may be behind a claim that changed.

        A claim that only the second round changes fails not only because of the function that was judged; so another
        one is behind it, whose own claims may hold.
        """
        judged = self.isolation.judge(questions, {*wrong, *self.to_write})
        changed = {claim: seen for each in judged for claim, seen in each.changed_in_second_round.items()}
        if changed:
            others = [label for label in self.functions if label not in wrong and label not in self.to_write]
            judged += self.isolation.judge(dict.fromkeys(others, changed), self.functions.keys())
        return judged

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
        self, outcomes: Outcomes, wrong: Collection[str], blamed: tuple[Blame, ...]
    ) -> tuple[Blame, ...]:
        """Return what is blamed, first what is right but for what its calls share, unless its mistake is known."""
        named = {blame.label for blame in blamed if blame.found.mistake and not blame.found.is_guess}
        suspects = _first_failure_after_a_pass(outcomes, [label for label in wrong if label not in named])
        shared = causes.find_shared_state(outcomes, suspects, self.file, self.trials)
        sharing = (
            Blame(label, failed(outcomes_about(label, outcomes)), shared=state) for label, state in shared.items()
        )
        return *sharing, *(blame for blame in blamed if blame.label not in shared)

    def _name_copies(self, blamed: tuple[Blame, ...]) -> tuple[Blame, ...]:
        """Return what is blamed; if a result is only what was given, that is the mistake, unless there is another.

        The first comparison is made again, with what the function was given.
        """
        asked = {}
        for blame in blamed:
            compared = [claim for claim, outcome in blame.outcomes.items() if outcome.compared]
            if compared and not (blame.found.mistake or blame.shared):
                asked[blame.label] = compared[:1]
        if not asked:
            return blamed
        code = self.file.source.compiled(self.file.step_path)
        tried = self.trials.run(dict.fromkeys(asked, code), asked, show=True)
        copied = {
            label: FoundMistake(f"The result is {name}, unchanged.")
            for label, seen in tried.items()
            for outcome in seen.values()
            if outcome.compared and (name := outcome.compared.copied())
        }
        return tuple(replace(blame, found=copied.get(blame.label, blame.found)) for blame in blamed)

    def _findings_on_claims(self, outcomes: Outcomes, blamed: Iterable[Blame]) -> list[Finding]:
        """Return what is said of each claim: why it fails, or for whom it waits."""
        findings = [finding for blame in blamed for finding in blame.findings()]
        labels = [blame.label for blame in blamed]
        for claim, outcome in failed(_without_finding(findings, outcomes)).items():
            findings.append(waits(claim, outcome.about, self.isolation.to_wait_for(outcome.about, labels)))
        return findings

    def _together(self, failing: Outcomes) -> str:
        """Return what is said if each function is right alone; nothing if an error, or the only function, says more."""
        written = self.isolation.changed - self.to_write
        first = next(iter(failing.values()))
        return "" if first.is_error or len(written) < 2 else TOGETHER


def _without_finding(findings: Iterable[Finding], outcomes: Outcomes) -> Outcomes:
    """Return the outcomes of the claims on which there is no finding."""
    claims = {finding.claim for finding in findings}
    return {claim: outcome for claim, outcome in outcomes.items() if claim not in claims}


def _first_failure_after_a_pass(outcomes: Outcomes, labels: Iterable[str]) -> dict[str, str]:
    """Return, of some functions, the first claim about each that failed, if an earlier one held."""
    firsts = {}
    for label in labels:
        about_it = outcomes_about(label, outcomes)
        first = next((claim for claim, outcome in about_it.items() if outcome.mark == Mark.FAIL), None)
        if first and next(iter(about_it.values())).mark == Mark.PASS:
            firsts[label] = first
    return firsts


def _findings_by_one_cause(failing: Outcomes, sentence: str) -> list[Finding]:
    """Return what is said of a file in which one cause, in no single function, is behind every failure."""
    (first, outcome), *others = failing.items()
    return [
        finding_on(first, outcome.about, FoundMistake(sentence), outcome),
        *(waits(claim, other.about, [outcome.about]) for claim, other in others if other.about != outcome.about),
    ]
