"""Find which known mistake it is: the one that gives the same answers as the learner's file.

What every mistake answers to the claims is recorded, so naming one is a lookup. One file for each step,
``tests/references/mistakes/step_07.npz``: an index in JSON, and the numbers of all sketches one after the other.
``./run kernels`` writes them.

A sketch is an array in a few numbers: enough to tell it from others, and the same after rounding differently. An array
of more than :data:`GROUPS` elements is drawn into that many groups, and every group is added up with random signs. A
single element that differs changes one sum by as much, and rounding errors cancel out. This is the "count sketch" of
Charikar, Chen and Farach-Colton, "Finding frequent items in data streams" (2002).
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from checker.course.languages import Location
from checker.course.steps import Step
from checker.numeric.patterns import Comparison
from checker.numeric.tolerance import close

GROUPS = 64


@dataclass(frozen=True, eq=False)
class Sketch:
    """What is kept of an array.

    Args:
        dtype: the name of its dtype.
        shape: its shape.
        odd: a digest of where it is NaN or infinite; empty if it is finite.
        sums: of its finite numbers, by group; float32.
    """

    dtype: str
    shape: tuple[int, ...]
    odd: str
    sums: np.ndarray

    def __eq__(self, other: object) -> bool:
        """Return whether two arrays are equal within the tolerance of a check, as far as their sketches say."""
        if not isinstance(other, Sketch):
            return NotImplemented
        alike = (self.dtype, self.shape, self.odd) == (other.dtype, other.shape, other.odd)
        return alike and close(self.sums, other.sums)


def sketch(array: np.ndarray) -> Sketch:
    """Return the sketch of an array of any shape; of one that holds no numbers, its dtype and shape alone."""
    numbers: np.ndarray = array.ravel().astype(np.float64) if array.dtype.kind in "biuf" else np.empty(0)
    finite = np.isfinite(numbers)
    odd = ""
    if not finite.all():
        kinds = np.select([finite, np.isnan(numbers), numbers > 0], [0, 1, 2], 3).astype(np.uint8)
        odd = hashlib.blake2b(kinds.tobytes(), digest_size=8).hexdigest()
        numbers = np.where(finite, numbers, 0.0)
    if numbers.size > GROUPS:
        groups, signs = _drawn(numbers.size)
        numbers = np.bincount(groups, weights=signs * numbers, minlength=GROUPS)
    with np.errstate(over="ignore"):
        return Sketch(array.dtype.name, array.shape, odd, numbers.astype(np.float32))


@lru_cache(maxsize=4)
def _drawn(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a group and a sign for each of ``size`` elements; NumPy promises that ``RandomState`` never changes."""
    random = np.random.RandomState(size)
    return random.randint(GROUPS, size=size, dtype=np.uint8), 1.0 - 2.0 * random.randint(2, size=size, dtype=np.uint8)


@dataclass(frozen=True)
class Outcome:
    """What one claim said of one subject.

    ``verdict`` is ``pass``, ``fail``, ``waits`` (for a blank that is not written) or ``traced`` (all but compiled).
    ``observed`` is a sketch of the array that did not fit, or the words of the refusal or error: what naming compares.
    ``compared`` is what ``--show`` shows. ``measured`` says that the sentence tells what the code computed, not which
    error it raised.
    """

    verdict: str
    sentence: str = ""
    location: Location | None = None
    observed: Sketch | str | None = None
    about: str = ""
    compared: Comparison | None = None
    measured: bool = False


Outcomes = Mapping[str, Outcome]  # claim -> outcome
Answers = Mapping[str, Outcomes]  # mistake -> claim -> outcome


def agrees(outcome: Outcome | None, other: Outcome | None) -> bool:
    """Return whether two outcomes of a claim are the same."""
    if outcome is None or other is None:
        return False
    return (outcome.verdict, outcome.observed) == (other.verdict, other.observed)


def that_agree(outcomes: Outcomes, answers: Answers, mistakes: Collection[str]) -> list[str]:
    """Return the mistakes that have the same ``outcomes``, for every claim that was decided."""
    decided = [claim for claim, outcome in outcomes.items() if outcome.verdict != "waits"]
    return [name for name in mistakes if all(agrees(answers[name].get(claim), outcomes[claim]) for claim in decided)]


def telling_apart(mistakes: Collection[str], answers: Answers) -> list[str]:
    """Return the claims that some mistakes answer differently."""
    return [
        claim
        for name in list(mistakes)[:1]
        for claim, outcome in answers[name].items()
        if any(not agrees(answers[other].get(claim), outcome) for other in mistakes)
    ]


def read_answers(step: Step) -> Answers | None:
    """Return the recorded answers of a step's mistakes; None if there are none, or they are out of date."""
    if not step.answers_file.is_file():
        return None
    with np.load(step.answers_file) as file:
        index, sums = json.loads(file["index"].tobytes()), file["sums"]
    if index["made_of"] != made_of(step):
        return None
    sketches = [
        Sketch(dtype, tuple(shape), odd, sums[first:end]) for dtype, shape, odd, first, end in index["sketches"]
    ]
    return {
        mistake: {
            claim: Outcome(verdict, observed=sketches[observed] if isinstance(observed, int) else observed)
            for claim, (verdict, observed) in outcomes.items()
        }
        for mistake, outcomes in index["answers"].items()
    }


def write_answers(step: Step, answers: Answers) -> None:
    """Record the answers of a step's mistakes, unless what is recorded says the same."""
    answers = {
        mistake: {claim: Outcome(outcome.verdict, observed=outcome.observed) for claim, outcome in outcomes.items()}
        for mistake, outcomes in answers.items()
    }
    if read_answers(step) == answers:
        return
    numbers: dict[tuple[str, tuple[int, ...], str, bytes], int] = {}
    sketches: list[Sketch] = []

    def entry(observed: Sketch | str | None) -> int | str | None:
        if not isinstance(observed, Sketch):
            return observed
        number = numbers.setdefault(
            (observed.dtype, observed.shape, observed.odd, observed.sums.tobytes()), len(sketches)
        )
        sketches.extend([observed] if number == len(sketches) else [])
        return number

    table = {
        mistake: {claim: (outcome.verdict, entry(outcome.observed)) for claim, outcome in outcomes.items()}
        for mistake, outcomes in answers.items()
    }
    ends = [0, *itertools.accumulate(sketch.sums.size for sketch in sketches)]
    places = [(each.dtype, each.shape, each.odd, *ends[number : number + 2]) for number, each in enumerate(sketches)]
    index = json.dumps({"made_of": made_of(step), "answers": table, "sketches": places})
    step.answers_file.parent.mkdir(exist_ok=True)
    sums = np.concatenate([np.empty(0, np.float32), *(sketch.sums for sketch in sketches)])
    np.savez_compressed(step.answers_file, index=np.frombuffer(index.encode(), np.uint8), sums=sums)


def made_of(step: Step) -> str:
    """Return the hash of everything that the answers follow from: solution or model, mistakes, claims, reference."""
    digest = hashlib.blake2b(digest_size=16)
    for path in (step.model_file, step.attempts_file, step.check_file, step.reference_file):
        data = path.read_bytes() if path.is_file() else b""
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()
