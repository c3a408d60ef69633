"""The known mistakes of a step: how each is made, its answers, and which of them a learner has made.

The code that people write instead of a solution is kept apart from the claims, in ``tests/attempts/step_07.py``. Such a
file defines ``MISTAKES``, ``ALTERNATIVES`` and ``HABITS``, and may define the other tables of :class:`Attempts`.

The answers of every mistake, which are its outcomes, are recorded, so naming a mistake is a lookup. ``./run survey``
writes a file for each step, such as ``tests/references/mistakes/step_07.json.gz``.

The sentence of a mistake is its name: in these tables, and while a program runs. In files, which outlive a sentence,
stands its key, which is made of its edits: in what is recorded, and in what is saved of a learner's hunts.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property
from typing import Any

import numpy as np

from checker.course.blanks import find_blanks, label_of
from checker.course.languages import PYTHON, Language
from checker.course.source import Source
from checker.course.steps import Step
from checker.files import digest
from checker.numeric.sketches import Sketch
from checker.outcomes import Observation, ObservedText, Outcome, Outcomes, RaisedError, agrees, failed_outcomes
from checker.stages import Mark

ANY_INDEX = re.compile(r"(?<=gather index )-?\d+")  # of several wrong ones, MAX names that which a thread meets first

Edits = Mapping[str, str]  # a piece of code that occurs once in the solution -> the code to put there


@dataclass(frozen=True)
class Attempts:
    """Wrong ways to write a step, and other right ones, as edits of its solution; a field is the table of its name."""

    mistakes: Mapping[str, Edits]  # the sentence that names a mistake -> how to make it
    alternatives: Mapping[str, Edits]  # a name -> how to write the solution that way
    habits: Mapping[str, Edits]  # a habit from PyTorch or Python -> how to bring it in; a check shows what to write
    fixed: Mapping[str, Edits]  # a name -> how to write a recorded size into the code
    # The mistakes by which other numbers become infinite on another processor: MAX's exp stays finite with AVX-512
    # where it does not with AVX2.
    overflows: Collection[str]
    models: Mapping[str, Edits]  # the mistakes of a kernel, made in its model in NumPy, from which answers are recorded


def load_attempts(step: Step) -> Attempts:
    """Run the file with the tables of a step; tables that it does not define are empty."""
    path = step.attempts_file
    tables: dict[str, Any] = {"__name__": f"attempts.{path.stem}"}
    if path.exists():
        exec(compile(path.read_bytes(), str(path), "exec"), tables)
    return Attempts(
        mistakes=tables.get("MISTAKES", {}),
        alternatives=tables.get("ALTERNATIVES", {}),
        habits=tables.get("HABITS", {}),
        fixed=tables.get("FIXED", {}),
        overflows=tables.get("OVERFLOWS", ()),
        models=tables.get("MODELS", {}),
    )


def key_of(edits: Edits) -> str:
    """Return the key of a mistake: the digest of the edits that make it."""
    return digest(*edits.keys(), *edits.values())


def keys_of_mistakes(step: Step) -> dict[str, str]:
    """Return the key of each mistake of a step, by its sentence."""
    return {sentence: key_of(edits) for sentence, edits in load_attempts(step).mistakes.items()}


def functions_changed_by(solution: Source, edits: Edits, language: Language = PYTHON) -> set[str]:
    """Return the functions with a blank that edits change, by their qualified names."""
    names = set()
    for old in edits:
        before = solution.text.partition(old)[0]
        first, last = before.count("\n") + 1, (before + old.rstrip("\n")).count("\n") + 1
        line_ranges = _lines_of(solution, language).items()
        names |= {name for name, lines in line_ranges if lines.start <= last and first < lines.stop}
    return names


@cache
def _lines_of(solution: Source, language: Language) -> dict[str, range]:
    """Return the lines of the functions with a blank."""
    functions = language.functions(solution)
    names = [blank.function for blank in find_blanks(solution, language)]
    return {name: range(functions[name].def_line, functions[name].last + 1) for name in names}


def apply_edits(source: str, edits: Edits) -> str:
    """Return the source of a solution with every ``old`` replaced by its ``new``.

    Raises:
        ValueError: an ``old`` does not occur exactly once in the source.
    """
    for old, new in edits.items():
        if source.count(old) != 1:
            raise ValueError(f"{old!r} occurs {source.count(old)} times in the solution, and must occur once")
        source = source.replace(old, new)
    return source


# ---------------------------------------------------------------- answers

Answers = Mapping[str, Outcomes]  # mistake -> claim -> outcome


class KnownMistakes:
    """The known mistakes of a step; one without ``answers`` is found by its code alone, if they ``are_named``."""

    def __init__(self, step: Step, answers: Answers, *, are_named: bool = True) -> None:
        self.step, self.answers, self.are_named = step, answers, are_named

    @classmethod
    def recorded(cls, step: Step) -> KnownMistakes:
        """Return a step's mistakes with their recorded answers; without any, if those are out of date."""
        return cls(step, read_answers(step) or {})

    @classmethod
    def unanswered(cls, step: Step) -> KnownMistakes:
        """Return a step's mistakes without answers, for a configuration drawn anew."""
        return cls(step, {})

    @classmethod
    def unnamed(cls, step: Step) -> KnownMistakes:
        """Return none of a step's mistakes, for a hunt, in which the learner is to find the name."""
        return cls(step, {}, are_named=False)

    @cached_property
    def edits(self) -> Mapping[str, Edits]:
        """The edits that make each mistake."""
        return load_attempts(self.step).mistakes if self.are_named else {}

    @cached_property
    def lies_in(self) -> Mapping[str, set[str]]:
        """The labels of the functions with a blank that each mistake changes."""
        solution, language = self.step.read_solution(), self.step.language
        return {
            name: {label_of(function) for function in functions_changed_by(solution, edits, language)}
            for name, edits in self.edits.items()
        }

    def mistakes_only_in(self, label: str) -> list[str]:
        """Return the mistakes that lie in one function alone."""
        return [name for name in self.answers if self.lies_in[name] == {label}]

    def agrees_with(self, name: str, outcomes: Outcomes) -> bool:
        """Return whether a mistake has the same ``outcomes``, in every claim that was decided."""
        decided = {claim: outcome for claim, outcome in outcomes.items() if outcome.mark is not Mark.WAITS}
        return all(agrees(self.answers[name].get(claim), outcome) for claim, outcome in decided.items())

    def agreeing_mistakes(self, outcomes: Outcomes, names: Collection[str]) -> list[str]:
        """Return which of some mistakes have the same ``outcomes``, in every claim that was decided."""
        return [name for name in names if self.agrees_with(name, outcomes)]

    def closest(self, outcomes: Outcomes, names: Collection[str]) -> str | None:
        """Return which of some mistakes has errors worded most like those of ``outcomes``; else None."""
        how_unlike = {name: _how_unlike(outcomes, self.answers[name]) for name in names}
        return min(how_unlike, key=how_unlike.__getitem__, default=None)

    def distinguishing_claims(self, names: Sequence[str]) -> list[str]:
        """Return the claims in which some mistakes have different outcomes."""
        if not names:
            return []
        first, *others = [self.answers[name] for name in names]
        return [
            claim for claim, outcome in first.items() if not all(agrees(other.get(claim), outcome) for other in others)
        ]


def _how_unlike(outcomes: Outcomes, answers: Outcomes) -> float:
    """Return how differently two sets of errors are worded: 0 if all are alike, and up to 1 more for each claim."""
    unlike = 0.0
    for claim, outcome in outcomes.items():
        if claim in answers and outcome.observed_text != answers[claim].observed_text:
            unlike += 1 - SequenceMatcher(a=outcome.observed_text, b=answers[claim].observed_text).ratio()
    return unlike


def agrees_by_numbers(outcomes: Outcomes, answers: Outcomes) -> bool:
    """Return whether a mistake that agrees with ``outcomes`` computes the same numbers; else it only fails alike."""
    failing = failed_outcomes(outcomes).items()
    return any(not outcome.is_error and agrees(outcome, answers.get(claim)) for claim, outcome in failing)


def agrees_to_the_letter(outcomes: Outcomes, answers: Outcomes) -> bool:
    """Return whether a mistake raises errors of some ``outcomes``, and all of these with the same sizes."""
    errors = {claim: outcome for claim, outcome in outcomes.items() if outcome.is_error}
    pairs = [(error, answers[claim]) for claim, error in errors.items() if agrees(error, answers.get(claim))]
    return bool(pairs) and all(_text_without_index(error) == _text_without_index(answer) for error, answer in pairs)


def _text_without_index(outcome: Outcome) -> str:
    """Return an error without an index, which differs from run to run."""
    return ANY_INDEX.sub("", outcome.observed_text)


def read_answers(step: Step) -> Answers | None:
    """Return the recorded answers of a step's mistakes; None if there are none, or they are out of date."""
    if not step.answers_file.is_file():
        return None
    record = json.loads(gzip.decompress(step.answers_file.read_bytes()))
    if record["made_of"] != digest_of_inputs(step):
        return None
    attempts = load_attempts(step)
    sentences = {key_of(edits): sentence for sentence, edits in attempts.mistakes.items()}
    overflows = {key_of(attempts.mistakes[sentence]) for sentence in attempts.overflows}
    return {
        sentences[key]: {
            claim: Outcome(Mark(mark), observation=_from_json(kept, overflows=key in overflows))
            for claim, (mark, kept) in outcomes.items()
        }
        for key, outcomes in record["answers"].items()
    }


def write_answers(step: Step, answers: Answers) -> None:
    """Record the answers of a step's mistakes, unless the same are recorded already."""
    answers = {
        mistake: {claim: Outcome(outcome.mark, observation=outcome.observation) for claim, outcome in outcomes.items()}
        for mistake, outcomes in answers.items()
    }
    if read_answers(step) == answers:
        return
    keys = keys_of_mistakes(step)
    table = {
        keys[mistake]: {claim: (outcome.mark, _as_json(outcome.observation)) for claim, outcome in outcomes.items()}
        for mistake, outcomes in answers.items()
    }
    step.answers_file.parent.mkdir(exist_ok=True)
    record = json.dumps({"made_of": digest_of_inputs(step), "answers": table})
    step.answers_file.write_bytes(gzip.compress(record.encode(), mtime=0))


def _as_json(observation: Observation | None) -> dict[str, Any] | None:
    """Return an observation as an object for JSON: a sketch by its fields, and its sums by their bytes."""
    match observation:
        case Sketch():
            sums = base64.b64encode(observation.sums.tobytes()).decode()
            return {"dtype": observation.dtype, "shape": observation.shape, "odd": observation.odd, "sums": sums}
        case ObservedText():
            return {"said": observation.text}
        case RaisedError():
            return {"raised": observation.kind, "text": observation.text}
    return None


def _from_json(kept: dict[str, Any] | None, *, overflows: bool) -> Observation | None:
    """Return the observation of which :func:`_as_json` has made an object; its numbers may overflow."""
    match kept:
        case {"dtype": dtype, "shape": shape, "odd": odd, "sums": sums}:
            return Sketch(dtype, tuple(shape), odd, np.frombuffer(base64.b64decode(sums), np.float32), overflows)
        case {"said": text}:
            return ObservedText(text)
        case {"raised": kind, "text": text}:
            return RaisedError(kind, text)
    return None


def digest_of_inputs(step: Step) -> str:
    """Return the digest of what a step's answers depend on: solution or model, mistakes, claims, reference.

    Earlier solutions, ``tolerance.py`` and ``vocabulary.py``, on which the answers also depend, are left out: each of
    their comments would put every table out of date, and to record all takes half an hour. So whoever changes what they
    do runs ``./run survey``; ``test_checks.py`` fails until then, once a mistake is not named.
    """
    attempts = load_attempts(step)
    keys = [key_of(edits) for edits in (*attempts.mistakes.values(), *attempts.models.values())]
    files = (step.model_file, step.check_file, step.reference_file)
    return digest(*keys, *(path.read_bytes() if path.is_file() else b"" for path in files))
