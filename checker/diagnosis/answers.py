"""Recorded answers of every known mistake to the claims, so that naming a mistake is a lookup.

One file for each step, ``tests/references/mistakes/step_07.npz``: an index in JSON, and the numbers of all sketches one
after the other. ``./run kernels`` writes them.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

from checker.course.steps import Step
from checker.diagnosis.mistakes import Answers, Outcome
from checker.diagnosis.sketches import Sketch


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
    recorded = read_answers(step)
    if recorded is not None and _observed(recorded) == _observed(answers):
        return
    sketches: list[tuple[str, tuple[int, ...], str, int, int]] = []
    numbers: dict[tuple[str, tuple[int, ...], str, bytes], int] = {}
    sums: list[np.ndarray] = []

    def entry(observed: Sketch | str | None) -> int | str | None:
        if not isinstance(observed, Sketch):
            return observed
        key = (observed.dtype, observed.shape, observed.odd, observed.sums.tobytes())
        if key not in numbers:
            numbers[key] = len(numbers)
            first = sketches[-1][-1] if sketches else 0
            sketches.append((*key[:3], first, first + observed.sums.size))
            sums.append(observed.sums)
        return numbers[key]

    table = {
        mistake: {claim: (outcome.verdict, entry(outcome.observed)) for claim, outcome in outcomes.items()}
        for mistake, outcomes in answers.items()
    }
    index = json.dumps({"made_of": made_of(step), "answers": table, "sketches": sketches})
    step.answers_file.parent.mkdir(exist_ok=True)
    np.savez_compressed(
        step.answers_file,
        index=np.frombuffer(index.encode(), np.uint8),
        sums=np.concatenate([np.empty(0, np.float32), *sums]),
    )


def made_of(step: Step) -> str:
    """Return the hash of everything that the answers follow from: solution or model, mistakes, claims, reference."""
    digest = hashlib.blake2b(digest_size=16)
    for path in (step.model_file, step.attempts_file, step.check_file, step.reference_file):
        data = path.read_bytes() if path.is_file() else b""
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def _observed(answers: Answers) -> dict[str, dict[str, object]]:
    """Return what is recorded of answers: verdicts and observations, by mistake and claim."""
    return {
        mistake: {claim: (outcome.verdict, outcome.observed) for claim, outcome in outcomes.items()}
        for mistake, outcomes in answers.items()
    }
