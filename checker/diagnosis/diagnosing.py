"""Diagnose a failure: settle what lies in no single blank, a known mistake first, then have functions blamed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from checker.course.blanks import blanks_of
from checker.course.languages import PYTHON
from checker.course.source import Source
from checker.course.steps import Step
from checker.diagnosis import causes
from checker.diagnosis.blaming import Blame, Blamer, Diagnosis, finding_on, without_finding
from checker.diagnosis.causes import waits
from checker.diagnosis.grafting import Graft, LearnersFile, Trials
from checker.diagnosis.mistake_finder import Mistake, MistakeFinder
from checker.diagnosis.mistakes import KnownMistakes, edited
from checker.diagnosis.outside_blanks import changed_lines, reordered
from checker.events import Finding, Mark
from checker.outcomes import Outcomes, failed, outcomes_about


class Diagnostician:
    """Finds out why claims of a step fail, of one file or of many.

    Args:
        step: whose claims.
        trials: run claims on code that is put together.
        known_mistakes: those that can be named; none, if the claims that failed are about a configuration drawn anew.
    """

    def __init__(self, step: Step, trials: Trials, known_mistakes: KnownMistakes) -> None:
        self.step, self.trials, self.known_mistakes = step, trials, known_mistakes
        self.solution = step.read_solution()
        self.functions = {blank.label: blank.function for blank in blanks_of(step)}

    def diagnose(
        self, outcomes_in_file: Outcomes, source: Source, path: str, to_write: Collection[str] = ()
    ) -> Diagnosis:
        """Return the cause of each failure of a file.

        Names that are missing come first. What is left may be a known mistake of the file; if not, something given that
        was changed is looked for. Parameters in another order may fail just as a known mistake does. For what is left
        then, functions are blamed.

        Args:
            outcomes_in_file: what the claims said of it.
            source: the file.
            path: where it is.
            to_write: the labels of the functions that are still to write.
        """
        if self.step.language is not PYTHON:
            return self._diagnose_kernel(outcomes_in_file)
        solution_path, step_path = str(self.step.solution_file), str(self.step.learner_file)
        file = LearnersFile(source, path, self.solution, solution_path, step_path, self.functions, to_write)
        finder = MistakeFinder(file, self.known_mistakes)
        findings = causes.findings_on_missing_names(failed(outcomes_in_file), file)
        outcomes_left = without_finding(findings, outcomes_in_file)
        file_mistake = finder.find_in_file(outcomes_left)
        restored: Collection[Graft] = ()
        in_other_order = reordered(source, self.solution)
        if not file_mistake or in_other_order:
            on_changes, restored = self._findings_on_changes(outcomes_left, file, in_other_order)
            if on_changes:
                findings += on_changes
                outcomes_left = without_finding(on_changes, outcomes_left)
                file_mistake = finder.find_in_file(outcomes_left)
        if not failed(outcomes_left):
            return Diagnosis(findings)
        diagnosis = Blamer(file, finder, restored, self.trials).diagnose(outcomes_left, file_mistake)
        return replace(diagnosis, findings=findings + diagnosis.findings)

    def _findings_on_changes(
        self, outcomes_in_file: Outcomes, file: LearnersFile, in_other_order: set[str]
    ) -> tuple[list[Finding], list[Graft]]:
        """Return what is said of something given that was changed, and what is to be as it was.

        If a known mistake changes the same, its name is said. In a function that likely makes a known mistake, nothing
        is taken for the cause, unless its parameters are in another order.
        """
        likely_named = self._likely_named(outcomes_in_file) - in_other_order
        findings, restored = causes.findings_on_changes(failed(outcomes_in_file), file, self.trials, likely_named)
        name = self._mistake_that_changes_the_same(file.source) if findings else None
        if name:
            findings = [
                replace(finding, sentence=name, mistake=name) if finding.mark == Mark.FAIL else finding
                for finding in findings
            ]
        return findings, restored

    def _mistake_that_changes_the_same(self, source: Source) -> str | None:
        """Return the name of the known mistake that changes what is given as a file does; None if none does."""
        changes = changed_lines(source, self.solution)
        if not changes:
            return None
        for name, edits in self.known_mistakes.edits.items():
            if changed_lines(Source(edited(self.solution.text, edits)), self.solution) == changes:
                return name
        return None

    def _likely_named(self, outcomes_in_file: Outcomes) -> set[str]:
        """Return the functions, by qualified names, whose own claims are answered as by a known mistake in them."""
        labels = {outcome.about for outcome in failed(outcomes_in_file).values()} & self.functions.keys()
        likely = set()
        for label in labels:
            possible = self.known_mistakes.mistakes_only_in(label)
            if self.known_mistakes.agreeing_mistakes(outcomes_about(label, outcomes_in_file), possible):
                likely.add(self.functions[label])
        return likely

    def _diagnose_kernel(self, outcomes_in_file: Outcomes) -> Diagnosis:
        """Return what each failure of a kernel comes from, without compiling another: the first function that is wrong.

        Every function of a kernel calls those before it and none after it, so one that comes later has to wait.
        """
        failing = failed(outcomes_in_file)
        wrong = [outcome.about for outcome in failing.values()]
        in_order = [label for label in self.functions if label in wrong]
        first = in_order[0] if in_order else wrong[0]  # a claim may be about no function to write
        outcomes_of_first = outcomes_about(first, outcomes_in_file)
        possible = self.known_mistakes.mistakes_only_in(first)
        names = self.known_mistakes.agreeing_mistakes(outcomes_in_file, possible)
        if not names:
            names = self.known_mistakes.agreeing_mistakes(outcomes_of_first, possible)
        blame = Blame(first, failed(outcomes_of_first), Mistake(names[0]) if names else None)
        findings = [
            finding_on(claim, first, outcome, blame.mistake)
            if outcome.about == first
            else waits(claim, outcome.about, [first])
            for claim, outcome in failing.items()
        ]
        return Diagnosis(findings, (blame,))
