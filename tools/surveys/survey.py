"""Grade everything that the check of a step must get right, without looking at any learner's file.

The solution and every alternative must be accepted; every spoiled solution must be refused, with the
sentence of its own mistake: ``tests/dev/session/test_checks.py`` demands it.

``./run kernels`` does that for every step, and records which of MAX's kernels it took and what every mistake answers.
"""

from __future__ import annotations

import json
import pickle
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from checker.course.attempts import Edits, load_attempts
from checker.course.languages import Location
from checker.course.languages.python import PYTHON
from checker.course.paths import RECORDED_KERNELS as RECORD
from checker.course.paths import relative_path
from checker.course.steps import Step, all_steps
from checker.events import PASS, Died, Ended, Event, Explanation, Late, Started
from checker.session.child import Child

QUIET_SECONDS = 120.0  # for one claim: this is not a learner's code, and the machine may be busy
THE_SOLUTION = "the solution"


@dataclass(frozen=True)
class SurveyJob:
    """The work of a survey's child; :func:`survey` says what it means. The results go into the file ``results``."""

    step: str
    subjects: Mapping[str, Edits]
    seed: int
    draws: int
    record: bool
    compiled_kernels: bool
    results: str


@dataclass(frozen=True)
class KernelsUsed:
    """MAX's kernels that a survey needed."""

    used: Sequence[str]


Tell = Callable[[Event | KernelsUsed], None]


@dataclass
class Surveyed:
    """What the check said of one subject: the solution, an alternative or a spoiled solution."""

    name: str
    happened: str = ""  # what no subject may do: end the process
    verdicts: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    locations: dict[str, Location | None] = field(default_factory=dict)
    named: list[str] = field(default_factory=list)  # the known mistakes that it makes, by its explanation

    def take(self, explained: Explanation) -> None:
        """Take in why a claim fails."""
        self.verdicts[explained.claim] = explained.verdict
        self.reasons[explained.claim] = explained.sentence
        self.locations[explained.claim] = explained.location
        if explained.mistake and explained.mistake not in self.named:
            self.named.append(explained.mistake)

    @property
    def accepted(self) -> bool:
        """Whether every claim was made and held."""
        return bool(self.verdicts) and set(self.verdicts.values()) == {PASS}

    @property
    def refused(self) -> str:
        """Which claims fail, and why."""
        failing = [f"{claim}: {self.reasons[claim]}" for claim, verdict in self.verdicts.items() if verdict != PASS]
        return "" if self.accepted else "; ".join(failing) or "no claim was made"

    def problem(self, mistakes: Collection[str]) -> str:
        """Return what the check got wrong about it, if it makes these mistakes, or nothing."""
        if self.happened:
            return self.happened
        if not mistakes:
            return "" if self.accepted else f"refused: {self.refused}"
        if self.accepted:
            return "a mistake was accepted"
        return "" if set(self.named) == set(mistakes) else f"named as {self.named or 'nothing'}"


def subjects_of(step: Step) -> dict[str, Edits]:
    """Return what a survey looks at by default: the solution, the alternatives, the mistakes.

    For a kernel they are its model and the model's mistakes, since a survey compiles nothing.
    """
    attempts = load_attempts(step)
    in_python = {**attempts.alternatives, **attempts.mistakes} if step.language is PYTHON else attempts.models
    return {THE_SOLUTION: {}, **in_python}


def survey(
    step: Step,
    subjects: Mapping[str, Edits],
    tell: Tell = lambda event: None,
    *,
    seed: int = 0,
    draws: int = 1,
    record: bool = False,
    compiled_kernels: bool = False,
) -> list[Surveyed]:
    """Grade edited versions of a step's solution, all in one child.

    Args:
        step: whose solution.
        subjects: the edits of each, by its name.
        tell: called with whatever else the child says, about compiling for example; last, the kernels that were used.
        seed: of the order in which they are graded, and of the first configuration drawn.
        draws: how many configurations are drawn for right answers.
        record: keep what the known mistakes answer; they are all among the subjects.
        compiled_kernels: the edits are of a kernel itself, which is compiled, instead of its model in NumPy.

    Raises:
        RuntimeError: the child ended, or was silent for too long; the message names the subject that it was grading.
    """
    running = "nothing yet"
    with tempfile.TemporaryDirectory() as folder, Child(program="tools.surveys.grading") as child:
        results = Path(folder) / "results"
        for event in child.run(
            SurveyJob(step.name, subjects, seed, draws, record, compiled_kernels, str(results)), QUIET_SECONDS
        ):
            if isinstance(event, Started):
                running = event.subject
            elif isinstance(event, Late | Died):
                raise RuntimeError(f"the survey of {step.name} ended at {running}: {event}")
            elif not isinstance(event, Ended):
                tell(event)
        graded, used = pickle.loads(results.read_bytes())
    tell(KernelsUsed(used))
    return graded


def record(steps: Iterable[Step]) -> int:
    """Survey steps; record kernels and answers. Return the exit status, 1 if a check got something wrong.

    What is recorded of other steps, of habits and of the book, stays, unless they are gone.
    """
    known = {"book", "habits", *(step.name for step in all_steps())}
    used = {name: kernels for name, kernels in json.loads(RECORD.read_text()).items() if name in known}
    wrong = 0
    for step in steps:
        events: list[Event | KernelsUsed] = []
        for subject in survey(step, subjects_of(step), events.append, record=True):
            if problem := subject.problem({subject.name} & load_attempts(step).mistakes.keys()):
                wrong += 1
                print(f"{step.name}: {subject.name} was {problem}", file=sys.stderr)
        used[step.name] = next(event.used for event in events if isinstance(event, KernelsUsed))
        print(f"{relative_path(step.check_file)}: {len(used[step.name])} kernels", flush=True)
    RECORD.write_text(json.dumps({name: used[name] for name in sorted(used)}, indent=1) + "\n")
    return 1 if wrong else 0
