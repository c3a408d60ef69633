"""Make findings: why a claim fails, or what it waits for."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from checker.diagnosis.mistake_finder import Mistake
from checker.outcomes import Outcome, Outcomes, words_of_wait
from checker.protocol.events import Finding, Reason
from checker.stages import Mark


def finding_on(claim: str, about: str, outcome: Outcome, mistake: Mistake | None) -> Finding:
    """Return why a claim fails: by the name of a known mistake, or else in the claim's own words.

    The name of a mistake that is a guess comes behind the claim's own words.
    """
    if mistake and not mistake.is_guess:
        return finding_with_figures(claim, about, outcome, mistake.name, mistake.name)
    sentence = outcome.reason
    if mistake:
        sentence += f" Perhaps: {mistake.name}"
    elif outcome.comparison and (tendency := outcome.comparison.tendency()):
        sentence += f" {tendency}"
    return Finding(claim, about, replace(outcome.why, sentence=sentence))


def finding_with_figures(
    claim: str, about: str, outcome: Outcome, sentence: str, known_mistake: str | None = None
) -> Finding:
    """Return a finding with a sentence and what was measured; the words of an error would only say it twice."""
    figures = outcome.figures if outcome.is_about_values else ""
    reason = replace(outcome.why, sentence=sentence, comes_from_max=False)  # the sentence says what the file does
    return Finding(claim, about, reason, mistake=known_mistake, figures=figures)


def finding_that_waits(
    claim: str, about: str, names: Collection[str], one: str = "works", several: str = "work"
) -> Finding:
    """Return the finding that a claim about one function waits for others: see ``words_of_wait``."""
    return Finding(claim, about, Reason(words_of_wait(names, one, several)), Mark.WAITS)


def outcomes_without_finding(findings: Iterable[Finding], outcomes: Outcomes) -> Outcomes:
    """Return the outcomes of the claims on which there is no finding."""
    claims = {finding.claim for finding in findings}
    return {claim: outcome for claim, outcome in outcomes.items() if claim not in claims}
