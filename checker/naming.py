"""Which mistake it is: the one whose spoiled solution makes the same observation as the learner's file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from checker.claims import close


@dataclass(frozen=True)
class Outcome:
    """What one claim said of one subject.

    ``verdict`` is ``yes``, ``no`` or ``waits`` (for a blank that is not written). ``observed`` is the
    array that did not fit, or the sentence of the refusal or error: what naming compares.
    """

    verdict: str
    sentence: str = ""
    where: str = ""
    observed: object = None
    about: str = ""


Outcomes = Mapping[str, Outcome]  # claim -> outcome
Observe = Callable[[list[str], list[str]], Mapping[str, Outcomes]]  # mistakes, claims -> mistake -> claim -> outcome

CLAIMS_LOOKED_AT = 3  # for claims of this many blanks; each costs a run of every spoiled solution


def same(one: object, other: object) -> bool:
    """Whether two observations are the same: arrays by value, everything else by equality."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and one.dtype == other.dtype and close(one, other)
    return type(one) is type(other) and bool(one == other)


def name_mistakes(failed: Outcomes, mistakes: list[str], observe: Observe) -> dict[str, str]:
    """The claim that gave each mistake away, and the mistake's sentence.

    For the first failed claim of every blank, the spoiled solutions that fail it with the same
    observation are candidates; the one that explains most of the other failed claims is named. A
    claim that a named mistake explains is not looked at again.
    """
    named: dict[str, str] = {}
    explained: set[str] = set()
    looked_at: set[str] = set()
    for claim, outcome in failed.items():
        if claim in explained or outcome.about in looked_at or len(looked_at) == CLAIMS_LOOKED_AT:
            continue
        looked_at.add(outcome.about)
        seen = observe(mistakes, [claim])
        candidates = [name for name in mistakes if _agrees(seen[name], failed, claim)]
        if not candidates:
            continue
        others = [other for other in failed if other != claim and other not in explained]
        rest = observe(candidates, others) if others else {name: {} for name in candidates}
        score = {name: sum(_agrees(rest[name], failed, other) for other in others) for name in candidates}
        best = max(candidates, key=lambda name: score[name])  # the first of equals
        named[claim] = best
        explained |= {claim, *(other for other in others if _agrees(rest[best], failed, other))}
    return named


def _agrees(spoiled: Outcomes, failed: Outcomes, claim: str) -> bool:
    outcome = spoiled.get(claim)
    return outcome is not None and outcome.verdict == "no" and same(outcome.observed, failed[claim].observed)
