"""Find which mistake it is: the one that gives the same answers as the learner's file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from checker.course.languages import Location
from checker.diagnosis.sketches import Sketch
from checker.numeric.showing import Comparison


@dataclass(frozen=True)
class Outcome:
    """What one claim said of one subject.

    ``verdict`` is ``pass``, ``fail``, ``waits`` (for a blank that is not written) or ``traced`` (all but compiled).
    ``observed`` is a sketch of the array that did not fit, or the words of the refusal or error: what naming compares.
    ``compared`` is what ``--show`` shows.
    """

    verdict: str
    sentence: str = ""
    location: Location | None = None
    observed: Sketch | str | None = None
    about: str = ""
    compared: Comparison | None = None


Outcomes = Mapping[str, Outcome]  # claim -> outcome
Answers = Mapping[str, Outcomes]  # mistake -> claim -> outcome


def agrees(one: Outcome | None, other: Outcome | None) -> bool:
    """Return whether two outcomes of a claim are the same."""
    return one is not None and other is not None and one.verdict == other.verdict and one.observed == other.observed


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
