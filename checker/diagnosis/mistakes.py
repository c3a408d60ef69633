"""Find which mistake it is: the one that gives the same answers as the learner's file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from checker.numeric.showing import Comparison
from checker.numeric.tolerance import close


@dataclass(frozen=True)
class Outcome:
    """What one claim said of one subject.

    ``verdict`` is ``yes``, ``no``, ``waits`` (for a blank that is not written) or ``traced`` (all but compiled).
    ``observed`` is the array that did not fit, or the words of the refusal or error: what naming compares.
    ``compared`` is what ``--show`` shows.
    """

    verdict: str
    sentence: str = ""
    where: str = ""
    observed: np.ndarray | str | None = None
    about: str = ""
    compared: Comparison | None = None


Outcomes = Mapping[str, Outcome]  # claim -> outcome
Answers = Mapping[str, Outcomes]  # mistake -> claim -> outcome


def same(one: np.ndarray | str | None, other: np.ndarray | str | None) -> bool:
    """Return whether two observations are the same: arrays by value, words by equality."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and one.dtype == other.dtype and close(one, other)
    return type(one) is type(other) and bool(one == other)


def agrees(one: Outcome | None, other: Outcome | None) -> bool:
    """Return whether two outcomes of a claim are the same."""
    return one is not None and other is not None and one.verdict == other.verdict and same(one.observed, other.observed)


def that_agree(said: Outcomes, answers: Answers, mistakes: Collection[str]) -> list[str]:
    """Return the mistakes that give the same answer as was ``said``, for every claim that was decided."""
    decided = [claim for claim, outcome in said.items() if outcome.verdict != "waits"]
    return [name for name in mistakes if all(agrees(answers[name].get(claim), said[claim]) for claim in decided)]


def telling_apart(mistakes: Collection[str], answers: Answers) -> list[str]:
    """Return the claims that some mistakes answer differently."""
    return [
        claim
        for name in list(mistakes)[:1]
        for claim, outcome in answers[name].items()
        if any(not agrees(answers[other].get(claim), outcome) for other in mistakes)
    ]
