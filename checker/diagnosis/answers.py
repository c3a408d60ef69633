"""Recorded answers of every known mistake to the claims, so that naming a mistake is a lookup.

One file for each step, ``tests/references/mistakes/step_07.npz``: an index in JSON and the arrays that it counts.
``./run kernels`` writes them.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from checker.course.steps import Step
from checker.diagnosis.mistakes import Answers, Outcome, agrees

INDEX = "index"


def read_answers(step: Step) -> Answers | None:
    """Return the recorded answers of a step's mistakes; None if there are none, or they are out of date."""
    if not step.answers_file.is_file():
        return None
    with np.load(step.answers_file) as file:
        index = json.loads(file[INDEX].tobytes())
        if index["made_of"] != made_of(step):
            return None
        arrays = [file[str(number)] for number in range(len(file.files) - 1)]
    return {
        mistake: {
            claim: Outcome(verdict, observed=arrays[observed] if isinstance(observed, int) else observed)
            for claim, (verdict, observed) in outcomes.items()
        }
        for mistake, outcomes in index["answers"].items()
    }


def write_answers(step: Step, answers: Answers) -> None:
    """Record the answers of a step's mistakes, unless what is recorded says the same."""
    if _equal(read_answers(step), answers):
        return
    numbers: dict[tuple[str, tuple[int, ...], bytes], int] = {}
    arrays: dict[str, Any] = {}

    def entry(observed: object) -> object:
        if not isinstance(observed, np.ndarray):
            return observed
        number = numbers.setdefault((observed.dtype.name, observed.shape, observed.tobytes()), len(numbers))
        arrays[str(number)] = observed
        return number

    table = {
        mistake: {claim: (outcome.verdict, entry(outcome.observed)) for claim, outcome in outcomes.items()}
        for mistake, outcomes in answers.items()
    }
    index = json.dumps({"made_of": made_of(step), "answers": table})
    step.answers_file.parent.mkdir(exist_ok=True)
    arrays[INDEX] = np.frombuffer(index.encode(), np.uint8)
    np.savez_compressed(step.answers_file, **arrays)


def made_of(step: Step) -> str:
    """Return the hash of everything that the answers follow from: solution or model, mistakes, claims, reference."""
    digest = hashlib.blake2b(digest_size=16)
    for path in (step.model_file, step.attempts_file, step.check_file, step.reference_file):
        data = path.read_bytes() if path.is_file() else b""
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def _equal(recorded: Answers | None, answers: Answers) -> bool:
    if recorded is None or recorded.keys() != answers.keys():
        return False
    return all(
        recorded[mistake].keys() == outcomes.keys()
        and all(agrees(recorded[mistake][claim], outcome) for claim, outcome in outcomes.items())
        for mistake, outcomes in answers.items()
    )
