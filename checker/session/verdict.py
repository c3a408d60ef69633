"""Decide the verdict from everything that is known of a check. Nothing is printed here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import ClassVar

from checker.course.languages import Location
from checker.events import DRAWN, FAIL, PASS, TRACED, TRACING, WAITS, Claimed, Explanation

PASSED, FAILED = 0, 1  # exit statuses


@dataclass(frozen=True)
class Row:
    """What is known of one claim, or of a blank that is still to write; ``line`` is where to look."""

    kind: ClassVar = "row"
    verdict: str
    about: str
    sentence: str
    line: int | None = None


@dataclass(frozen=True)
class Words:
    """Something else to show: what the check has ``said``, numbers ``shown``, or what the file has ``printed``.

    An aside belongs to what stands before it.
    """

    kind: str
    text: str
    aside: bool = False


@dataclass(frozen=True)
class Verdict:
    """The end of a check: its exit status, the explanations of a failure, and the last words."""

    status: int
    explanations: tuple[Explanation, ...] = ()
    words: tuple[str, ...] = ()


@dataclass
class CheckState:
    """What is known so far of a file.

    Attributes:
        claims: as a learner is to see them: a claim that failed may turn out to wait for another function.
        outcomes: by claim, what the child has said of it first.
        stages: those that have ended.
        explained: why claims fail.
        stopped: why there is no verdict.
        ended: whether the child has said everything.
        running: the claim that is being tried, in words.
    """

    claims: dict[str, Claimed] = field(default_factory=dict)
    outcomes: dict[str, str] = field(default_factory=dict)
    stages: set[str] = field(default_factory=set)
    explained: list[Explanation] = field(default_factory=list)
    stopped: Explanation | None = None
    ended: bool = False
    running: str = ""

    @property
    def has_failed(self) -> bool:
        """Whether a claim has failed."""
        return FAIL in self.outcomes.values()

    @property
    def numbers_are_right(self) -> bool:
        """Whether every claim about numbers was made, and holds."""
        return DRAWN in self.stages and set(self.outcomes.values()) <= {PASS, TRACED}

    @property
    def only_compiling_is_left(self) -> bool:
        """Whether it has passed already: the numbers are right, and MAX has traced the module; compiling may go on."""
        return TRACING in self.stages and TRACED in self.outcomes.values() and self.numbers_are_right

    def no_verdict(self, happened: str, advice: str, location: Location | None = None) -> Explanation:
        """Return the explanation of a check that did not finish."""
        during = f"during this claim: {self.running}" if self.running else "while the file was loaded."
        return Explanation(f"No verdict: {happened} {during} {advice}".rstrip(), location=location)


def explain(state: CheckState) -> list[Explanation]:
    """Return the explanations of the claims that failed: one per function that makes a known mistake, else all."""
    failed = [each for each in state.explained if each.verdict == FAIL]
    if not failed:  # compiled claims, or the child ended before it could explain
        claims = (each for each in state.claims.values() if each.verdict == FAIL)
        failed = [Explanation(each.reason, each.about, each.location) for each in claims]
    explanations: dict[tuple[str, str], Explanation] = {}
    for each in failed:
        explanations.setdefault((each.about, each.mistake or each.sentence), each)
    return list(explanations.values())


def decide(state: CheckState, required: Collection[str], to_write: Collection[str]) -> Verdict:
    """Return the verdict on a file.

    Args:
        state: everything that is known of it.
        required: the claims that a pass needs.
        to_write: the names of the blanks that are still to write.
    """
    if state.stopped:
        note = ("The pass without the compiler is kept.",) if state.only_compiling_is_left else ()
        return Verdict(FAILED, (state.stopped,), note)
    explanations = tuple(explain(state))
    if state.has_failed:
        return Verdict(FAILED, explanations)
    outcomes = state.outcomes.values()
    if to_write or WAITS in outcomes:
        now = f"Right so far. Still to write: {', '.join(to_write)}." if outcomes else "Nothing could be tried yet."
        return Verdict(FAILED, explanations, (now,))
    tried = {claim.partition("[")[0] for claim, outcome in state.outcomes.items() if outcome != TRACED}
    if missing := sorted(set(required) - tried):
        not_tried = f"No verdict: {', '.join(missing)} did not run. Does the file stop the check?"
        return Verdict(FAILED, (Explanation(not_tried),))
    if not state.ended:
        return Verdict(FAILED, (Explanation("No verdict: the check did not end. Does the file stop it?"),))
    return Verdict(PASSED)
