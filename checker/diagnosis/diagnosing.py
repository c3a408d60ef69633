"""Diagnose the failures of a file: find causes that lie in no single blank, and have functions blamed for the rest."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from checker.course.blanks import blanks_of
from checker.course.languages import PYTHON
from checker.course.source import Source
from checker.course.steps import Step
from checker.diagnosis import causes
from checker.diagnosis.blaming import Blame, Blamer, Diagnosis
from checker.diagnosis.findings import finding_on, finding_that_waits, outcomes_without_finding
from checker.diagnosis.grafting import Graft, LearnersFile, Trials
from checker.diagnosis.mistake_finder import Mistake, MistakeFinder
from checker.diagnosis.mistakes import KnownMistakes, apply_edits
from checker.diagnosis.outside_blanks import changed_lines, functions_in_other_order
from checker.outcomes import Outcomes, failed_outcomes, outcomes_about
from checker.protocol.events import Finding
from checker.stages import Mark


class Diagnostician:
    """Finds out why claims of a step fail, of one file or of many; the ``known_mistakes`` can be named."""

    def __init__(self, step: Step, trials: Trials, known_mistakes: KnownMistakes) -> None:
        self.step, self.trials, self.known_mistakes = step, trials, known_mistakes
        self.solution = step.read_solution()
        self.functions = {blank.label: blank.function for blank in blanks_of(step)}

    def diagnose(
        self, outcomes_in_file: Outcomes, source: Source, path: str, to_write: Collection[str] = ()
    ) -> Diagnosis:
        """Return why each claim of a file fails.

        Missing names come first. The failures that are left may come from a known mistake of the file; if not, or if
        parameters are in another order, which may fail just as a known mistake does, changes outside the blanks are
        looked for. For the failures that are left then, functions are blamed.

        Args:
            outcomes_in_file: the outcomes of the claims on the file.
            source: the text of the file.
            path: where the file is.
            to_write: the labels of the functions that are still to write.
        """
        if self.step.language is not PYTHON:
            return self._diagnose_kernel(outcomes_in_file)
        solution_path, step_path = str(self.step.solution_file), str(self.step.learner_file)
        file = LearnersFile(source, path, self.solution, solution_path, step_path, self.functions, to_write)
        finder = MistakeFinder(file, self.known_mistakes)
        findings = causes.findings_on_missing_names(failed_outcomes(outcomes_in_file), file)
        outcomes_left = outcomes_without_finding(findings, outcomes_in_file)
        file_mistake = finder.find_in_file(outcomes_left)
        restored: Collection[Graft] = ()
        in_other_order = functions_in_other_order(source, self.solution)
        if not file_mistake or in_other_order:
            found, restored = self._findings_on_changes(outcomes_left, file, in_other_order)
            if found:
                findings += found
                outcomes_left = outcomes_without_finding(found, outcomes_left)
                file_mistake = finder.find_in_file(outcomes_left)
        if not failed_outcomes(outcomes_left):
            return Diagnosis(findings)
        diagnosis = Blamer(file, finder, restored, self.trials).diagnose(outcomes_left, file_mistake)
        return replace(diagnosis, findings=findings + diagnosis.findings)

    def _findings_on_changes(
        self, outcomes_in_file: Outcomes, file: LearnersFile, in_other_order: set[str]
    ) -> tuple[list[Finding], list[Graft]]:
        """Return findings on changes outside the blanks, and the grafts that undo the changes.

        If a known mistake makes the same changes, its name is told. A change in a function that likely makes a known
        mistake does not count, unless the parameters are in another order.
        """
        likely_named = self._likely_named(outcomes_in_file) - in_other_order
        findings, restored = causes.findings_on_changes(
            failed_outcomes(outcomes_in_file), file, self.trials, likely_named
        )
        name = self._mistake_that_changes_the_same(file.source) if findings else None
        for at, finding in enumerate(findings):
            if name and finding.mark is Mark.FAIL:
                findings[at] = replace(finding, why=replace(finding.why, sentence=name), mistake=name)
        return findings, restored

    def _mistake_that_changes_the_same(self, source: Source) -> str | None:
        """Return the name of the known mistake that makes the same changes outside the blanks as a file; else None."""
        changes = changed_lines(source, self.solution)
        if not changes:
            return None
        for name, edits in self.known_mistakes.edits.items():
            if changed_lines(Source(apply_edits(self.solution.text, edits)), self.solution) == changes:
                return name
        return None

    def _likely_named(self, outcomes_in_file: Outcomes) -> set[str]:
        """Return the qualified names of functions whose claims have the outcomes of a known mistake in them."""
        labels = {outcome.about for outcome in failed_outcomes(outcomes_in_file).values()} & self.functions.keys()
        likely = set()
        for label in labels:
            possible = self.known_mistakes.mistakes_only_in(label)
            if self.known_mistakes.agreeing_mistakes(outcomes_about(label, outcomes_in_file), possible):
                likely.add(self.functions[label])
        return likely

    def _diagnose_kernel(self, outcomes_in_file: Outcomes) -> Diagnosis:
        """Return the diagnosis of a kernel, without compiling another: the first wrong function is to blame.

        Every function of a kernel calls functions before it and none after it, so the later ones have to wait.
        """
        failing = failed_outcomes(outcomes_in_file)
        failing_labels = [outcome.about for outcome in failing.values()]
        in_order = [label for label in self.functions if label in failing_labels]
        first = in_order[0] if in_order else failing_labels[0]  # a claim may be about no function to write
        outcomes_of_first = outcomes_about(first, outcomes_in_file)
        possible = self.known_mistakes.mistakes_only_in(first)
        names = self.known_mistakes.agreeing_mistakes(outcomes_in_file, possible)
        if not names:
            names = self.known_mistakes.agreeing_mistakes(outcomes_of_first, possible)
        mistake = Mistake(names[0]) if names else None
        findings = [
            finding_on(claim, first, outcome, mistake)
            if outcome.about == first
            else finding_that_waits(claim, outcome.about, [first])
            for claim, outcome in failing.items()
        ]
        return Diagnosis(findings, (Blame(first, failed_outcomes(outcomes_of_first), mistake),))
