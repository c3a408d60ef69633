"""Which mistake it is: the one whose spoiled solution makes the same observation as the learner's file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from checker.numeric.tolerance import close


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

BLANKS_LOOKED_AT = 3  # each costs a run of every spoiled solution


def same(one: object, other: object) -> bool:
    """Return whether two observations are the same: arrays by value, everything else by equality."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and one.dtype == other.dtype and close(one, other)
    return type(one) is type(other) and bool(one == other)


def name_mistakes(said: Outcomes, mistakes: list[str], observe: Observe) -> dict[str, str]:
    """Return the claim that gave each mistake away, and the mistake's sentence.

    For the first failed claim of every blank, the spoiled solutions that fail it with the same
    observation are candidates, unless they break a claim that the learner's file keeps, or differ from it
    in another claim about that blank, or in the first claim that they fail. The one that agrees best with
    everything that was ``said`` of the learner's file, good and bad, is named. A claim that a named mistake
    explains is not looked at again; after one that no mistake explains, nothing is named, for what comes
    later may follow from it.
    """
    named: dict[str, str] = {}
    explained: set[str] = set()
    looked_at: set[str] = set()
    for claim, outcome in said.items():
        if (
            outcome.verdict != "no"
            or claim in explained
            or outcome.about in looked_at
            or len(looked_at) == BLANKS_LOOKED_AT
        ):
            continue
        looked_at.add(outcome.about)
        seen = observe(mistakes, [claim])
        candidates = [name for name in mistakes if _agrees(seen[name], said, claim)]
        if not candidates:
            break
        rest = observe(candidates, [other for other in said if said[other].verdict != "waits"])
        agreed = {name: {other for other in rest[name] if _agrees(rest[name], said, other)} for name in candidates}
        binding = {
            other
            for other, one in said.items()
            if one.verdict == "yes" or (one.verdict == "no" and one.about == outcome.about)
        }
        candidates = [name for name in candidates if agreed[name] >= binding | _first_failed(rest[name], said)]
        if not candidates:
            break
        best = max(candidates, key=lambda name: len(agreed[name]))  # the first of equals
        named[claim] = best
        explained |= agreed[best]
    return named


def _first_failed(spoiled: Outcomes, said: Outcomes) -> set[str]:
    """Return the first claim, in the order of the check, that a spoiled solution fails."""
    return set([claim for claim in said if claim in spoiled and spoiled[claim].verdict == "no"][:1])


def _agrees(spoiled: Outcomes, said: Outcomes, claim: str) -> bool:
    one, other = spoiled.get(claim), said.get(claim)
    return one is not None and other is not None and one.verdict == other.verdict and same(one.observed, other.observed)
