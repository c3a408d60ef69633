"""The known mistakes of a step: how each is made, what it answers, and which of them a learner has made.

What people write instead of a solution is kept apart from the claims, in ``tests/attempts/step_07.py``. Such a file
defines three tables: ``MISTAKES`` (a sentence -> the edits that make that mistake), ``ALTERNATIVES`` (a name -> the
edits that turn the solution into another right answer), and ``HABITS`` (what people bring along from PyTorch or Python
-> the edits that put it into the solution; the check shows the line to write instead). It may define ``FIXED``: numbers
of the recorded configuration, written into the code. If the solution is a kernel, it defines ``MODELS``: each mistake
once more, as edits of the kernel's model in NumPy, which is how it is named.

What every mistake answers to the claims is recorded, so naming one is a lookup. ``./run kernels`` writes a file for
each step, such as ``tests/references/mistakes/step_07.json.gz``.

A sketch is an array in a few numbers: enough to tell it from others, and the same after rounding differently. An array
of more than :data:`GROUPS` elements is drawn into that many groups, and every group is added up with random signs. A
single element that differs changes one sum by as much, and rounding errors cancel out. This is the "count sketch" of
Charikar, Chen and Farach-Colton, "Finding frequent items in data streams" (2002).
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import Any

import numpy as np

from checker.course.blanks import find_blanks
from checker.course.languages import PYTHON, Language, Location
from checker.course.progress import digest
from checker.course.steps import Step
from checker.events import FAIL, WAITS
from checker.numeric.comparison import OTHER_ORDER, Comparison, close

TABLES = ("MISTAKES", "ALTERNATIVES", "HABITS", "FIXED", "MODELS")

Edits = Mapping[str, str]  # what occurs once in the solution -> what to put there


@dataclass(frozen=True)
class Attempts:
    """Wrong answers and other right ones, as edits of a step's solution."""

    mistakes: Mapping[str, Edits]  # the sentence that names a mistake -> how to make it
    alternatives: Mapping[str, Edits]  # a name -> how to write the solution that way
    habits: Mapping[str, Edits]  # a name -> how people used to another library write it
    fixed: Mapping[str, Edits]  # a name -> how to write a recorded size into the code
    models: Mapping[str, Edits]  # the mistakes of a kernel, made in its model


def load_attempts(step: Step) -> Attempts:
    """Run the file that holds the tables of a step; those that it does not define are empty."""
    path = step.attempts_file
    namespace: dict[str, Any] = {table: {} for table in TABLES} | {"__name__": f"attempts.{path.stem}"}
    if path.exists():
        exec(compile(path.read_text(), str(path), "exec"), namespace)
    return Attempts(*(namespace[table] for table in TABLES))


def places(solution: str, edits: Edits, language: Language = PYTHON) -> set[str]:
    """Return the functions with a blank that edits change, by their qualified names."""
    changed = set()
    for old in edits:
        before = solution.partition(old)[0]
        first, last = before.count("\n") + 1, (before + old.rstrip("\n")).count("\n") + 1
        lines_of = _lines_of(solution, language).items()
        changed |= {name for name, lines in lines_of if lines.start <= last and first < lines.stop}
    return changed


@cache
def _lines_of(solution: str, language: Language) -> dict[str, range]:
    """Return the lines of the functions with a blank."""
    functions = language.functions(solution)
    names = [blank.function for blank in find_blanks(solution, language)]
    return {name: range(functions[name].defined, functions[name].last + 1) for name in names}


def edited(source: str, edits: Edits) -> str:
    """Return the source of a solution with every ``old`` replaced by its ``new``.

    Raises:
        ValueError: an ``old`` does not occur exactly once in the source.
    """
    for old, new in edits.items():
        if source.count(old) != 1:
            raise ValueError(f"{old!r} occurs {source.count(old)} times in the solution, and must occur once")
        source = source.replace(old, new)
    return source


# ---------------------------------------------------------------- what a claim says, and what mistakes answer

GROUPS = 64
ERROR = re.compile(r"\w+(Error|Exception): ")
SIZE = re.compile(r"\[[^\]]*\]|\d+")  # in the message of an error
OPENING = re.compile(r"^(?:the|what)(?= )")  # of a sentence that is printed behind a colon, too


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

    ``mark`` is ``pass``, ``fail``, ``waits`` (for a blank that is not written) or ``traced`` (all but compiled).
    ``observed`` is a sketch of the array that did not fit, or the words of the refusal or error: what naming compares.
    ``compared`` is what ``--show`` shows. ``measured`` says that the sentence tells what the code computed, not which
    error it raised; ``foreseen``, that only the compiler could find it, and the sentence says what to do.
    """

    mark: str
    sentence: str = ""
    location: Location | None = None
    observed: Sketch | str | None = None
    about: str = ""
    compared: Comparison | None = None
    measured: bool = False
    foreseen: bool = False

    @property
    def is_error(self) -> bool:
        """Whether the code raised an error, instead of computing something else than it should."""
        return isinstance(self.observed, str) and ERROR.match(self.observed) is not None

    @property
    def figures(self) -> str:
        """What was measured, as a sentence behind a mistake's name, which says more than that the order is wrong."""
        return OPENING.sub(lambda word: word[0].title(), self.sentence.removeprefix(OTHER_ORDER).strip())

    @property
    def alike(self) -> Sketch | str | None:
        """What was observed, but for the sizes in an error's message: each way of writing a file has its own."""
        return SIZE.sub("", str(self.observed)) if self.is_error else self.observed


Outcomes = Mapping[str, Outcome]  # claim -> outcome
Answers = Mapping[str, Outcomes]  # mistake -> claim -> outcome


def agrees(outcome: Outcome | None, other: Outcome | None) -> bool:
    """Return whether two outcomes of a claim are the same."""
    if outcome is None or other is None:
        return False
    return (outcome.mark, outcome.alike) == (other.mark, other.alike)


def that_agree(outcomes: Outcomes, answers: Answers, mistakes: Collection[str]) -> list[str]:
    """Return the mistakes that have the same ``outcomes``, for every claim that was decided."""
    decided = [claim for claim, outcome in outcomes.items() if outcome.mark != WAITS]
    return [name for name in mistakes if all(agrees(answers[name].get(claim), outcomes[claim]) for claim in decided)]


def by_numbers(outcomes: Outcomes, answers: Outcomes) -> bool:
    """Return whether a mistake that agrees with some ``outcomes`` computes the same; else it only fails alike."""
    failures = {claim: outcome for claim, outcome in outcomes.items() if outcome.mark == FAIL}
    return any(not outcome.is_error and agrees(outcome, answers.get(claim)) for claim, outcome in failures.items())


def to_the_letter(outcomes: Outcomes, answers: Outcomes) -> bool:
    """Return whether a mistake that agrees with some ``outcomes`` raises the same errors, with the same sizes."""
    pairs = [(outcome, answers[claim]) for claim, outcome in outcomes.items() if agrees(outcome, answers.get(claim))]
    return all(outcome.observed == answer.observed for outcome, answer in pairs if outcome.is_error)


def closest(outcomes: Outcomes, answers: Answers, mistakes: Collection[str]) -> str:
    """Return that of some mistakes whose errors are worded most like those of ``outcomes``, or nothing of none."""

    def unlike(name: str) -> float:
        pairs = [(seen.observed, answers[name][claim].observed) for claim, seen in outcomes.items()]
        errors = [(seen, other) for seen, other in pairs if isinstance(seen, str) and seen != other]
        return sum(1 - SequenceMatcher(a=seen, b=str(other)).ratio() for seen, other in errors)

    return min(mistakes, key=unlike, default="")


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
    record = json.loads(gzip.decompress(step.answers_file.read_bytes()))
    if record["made_of"] != made_of(step):
        return None
    return {
        mistake: {claim: Outcome(mark, observed=_read(seen)) for claim, (mark, seen) in outcomes.items()}
        for mistake, outcomes in record["answers"].items()
    }


def write_answers(step: Step, answers: Answers) -> None:
    """Record the answers of a step's mistakes, unless what is recorded says the same."""
    answers = {
        mistake: {claim: Outcome(outcome.mark, observed=outcome.observed) for claim, outcome in outcomes.items()}
        for mistake, outcomes in answers.items()
    }
    if read_answers(step) == answers:
        return
    table = {
        mistake: {claim: (outcome.mark, _written(outcome.observed)) for claim, outcome in outcomes.items()}
        for mistake, outcomes in answers.items()
    }
    step.answers_file.parent.mkdir(exist_ok=True)
    record = json.dumps({"made_of": made_of(step), "answers": table})
    step.answers_file.write_bytes(gzip.compress(record.encode(), mtime=0))


def _written(observed: Sketch | str | None) -> list[Any] | str | None:
    """Return what was observed as JSON can hold it: of a sketch, its fields, and the bytes of its sums."""
    if not isinstance(observed, Sketch):
        return observed
    sums = base64.b64encode(observed.sums.tobytes()).decode()
    return [observed.dtype, observed.shape, observed.odd, sums]


def _read(observed: list[Any] | str | None) -> Sketch | str | None:
    if not isinstance(observed, list):
        return observed
    dtype, shape, odd, sums = observed
    return Sketch(dtype, tuple(shape), odd, np.frombuffer(base64.b64decode(sums), np.float32))


def made_of(step: Step) -> str:
    """Return the digest of all that the answers follow from: solution or model, mistakes, claims, reference."""
    files = (step.model_file, step.attempts_file, step.check_file, step.reference_file)
    return digest(*(path.read_bytes() if path.is_file() else b"" for path in files))
