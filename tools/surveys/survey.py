"""Grade everything that the check of a step must get right, without looking at any learner's file.

The solution and every alternative must be accepted; every spoiled solution must be refused, with the
sentence of its own mistake: ``tests/dev/session/test_checks.py`` demands it.

``./run kernels`` does that for every step, and records which of MAX's kernels it took and what every mistake answers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from checker.course.attempts import Edits, load_attempts, mistakes_in_python
from checker.course.languages import PYTHON
from checker.course.paths import RECORDED_KERNELS as RECORD
from checker.course.paths import relative_path
from checker.course.steps import Step, all_steps
from checker.events import (
    Claimed,
    Died,
    Event,
    Explained,
    Job,
    KernelsUsed,
    Late,
    MaxUnusable,
    Started,
    SubjectGraded,
)
from checker.session.child import run

QUIET_SECONDS = 120.0  # for one claim: this is not a learner's code, and the machine may be busy
THE_SOLUTION = "the solution"

Tell = Callable[[Event], None]


@dataclass
class Surveyed:
    """What the check said of one subject: the solution, an alternative or a spoiled solution."""

    name: str
    happened: str = ""  # what no subject may do: end the process, replace what decides
    verdicts: dict[str, str] = field(default_factory=dict)
    help: dict[str, str] = field(default_factory=dict)
    where: dict[str, str] = field(default_factory=dict)
    named: list[str] = field(default_factory=list)  # the known mistakes that it makes, by its explanation

    @property
    def accepted(self) -> bool:
        """Whether every claim was made and held."""
        return bool(self.verdicts) and set(self.verdicts.values()) == {"yes"}

    @property
    def refused(self) -> str:
        """Which claims say no, and what they say."""
        said = [f"{claim}: {self.help[claim]}" for claim, verdict in self.verdicts.items() if verdict != "yes"]
        return "" if self.accepted else "; ".join(said) or "no claim was made"

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
    alternatives = load_attempts(step).alternatives if step.language is PYTHON else {}
    return {THE_SOLUTION: {}, **alternatives, **mistakes_in_python(step)}


def survey(
    step: Step,
    subjects: Mapping[str, Edits],
    tell: Tell = lambda event: None,
    *,
    seed: int = 0,
    draws: int = 1,
    record: bool = False,
    compiled_kernels: bool = False,
    quiet_seconds: float = QUIET_SECONDS,
) -> Iterator[Surveyed]:
    """Grade edited versions of a step's solution, all in one child.

    If a subject ends the child, or keeps it silent for too long, that is noted as its problem, and another child grades
    the rest.

    Args:
        step: whose solution.
        subjects: the edits of each, by its name.
        tell: called with whatever else the child says, about compiling for example; last, the kernels that were used.
        seed: of the order in which they are graded, and of the first configuration drawn.
        draws: how many configurations are drawn for right answers.
        record: keep what the known mistakes answer; they are all among the subjects.
        compiled_kernels: the edits are of a kernel itself, which is compiled, instead of its model in NumPy.
        quiet_seconds: how long one claim may take.

    Raises:
        RuntimeError: the child ended while it was grading none of them.
    """
    left, running = dict(subjects), ""
    job = Job(
        step.name,
        "survey",
        "",
        str(step.solution_file if compiled_kernels else step.model_file),
        compile=False,
        seed=seed,
        draws=draws,
        subjects=left,
        record=record,
        compiled_kernels=compiled_kernels,
    )
    graded: list[Surveyed] = []
    events = run(job, quiet_seconds)
    while event := next(events, None):
        match event:
            case Started():
                running = event.subject
            case SubjectGraded():
                graded.append(Surveyed(event.name, event.happened))
            case Claimed():
                graded[-1].verdicts[event.claim] = event.verdict
                graded[-1].help[event.claim] = event.help
            case Explained():
                graded[-1].verdicts[event.claim] = event.verdict
                graded[-1].help[event.claim] = event.help
                graded[-1].where[event.claim] = event.where
                if event.mistake and event.mistake not in graded[-1].named:
                    graded[-1].named.append(event.mistake)
            case Late() | Died() if running and not graded:
                yield Surveyed(running, f"it ended the survey: {event}")
                del left[running]
                running = ""
                events = run(replace(job, subjects=left), quiet_seconds)
            case Late() | Died() | MaxUnusable():
                raise RuntimeError(f"the survey of {step.name} ended early: {event}")
            case _:
                tell(event)
    yield from graded


def record(steps: Iterable[Step]) -> int:
    """Survey steps; record kernels and answers. Return the exit status, 1 if a check got something wrong.

    What is recorded of other steps, of habits and of the book, stays, unless they are gone.
    """
    known = {"book", "habits", *(step.name for step in all_steps())}
    used = {name: kernels for name, kernels in json.loads(RECORD.read_text()).items() if name in known}
    wrong = 0

    for step in steps:

        def note(event: Event, name: str = step.name) -> None:
            if isinstance(event, KernelsUsed):
                used[name] = event.used

        mistakes = load_attempts(step).mistakes
        for subject in survey(step, subjects_of(step), note, record=True):
            if problem := subject.problem({subject.name} & mistakes.keys()):
                wrong += 1
                print(f"{step.name}: {subject.name} was {problem}", file=sys.stderr)
        print(f"{relative_path(step.check_file)}: {len(used.get(step.name, []))} kernels", flush=True)
    RECORD.write_text(json.dumps({name: used[name] for name in sorted(used)}, indent=1) + "\n")
    return 1 if wrong else 0
