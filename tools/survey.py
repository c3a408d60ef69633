"""Grade everything that the check of a step must get right; no learner's file is looked at.

The solution and every alternative must be accepted; every spoiled solution must be refused, with the
sentence of its own mistake: ``tests/dev/session/test_checks.py`` demands it.

``./run kernels`` does that for every step and records which of MAX's kernels it took.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace

from checker.course.paths import RECORDED_KERNELS as RECORD
from checker.course.paths import relative_path
from checker.course.steps import Step, all_steps
from checker.events import (
    Claimed,
    Died,
    Event,
    Job,
    KernelsUsed,
    Late,
    MaxUnusable,
    MistakeNamed,
    Started,
    SubjectGraded,
)
from checker.session.child import run

QUIET_SECONDS = 120.0  # for one claim: this is no learner's code, and the machine may be busy

Tell = Callable[[Event], None]


@dataclass
class Surveyed:
    """What the check said of one subject: the solution, an alternative or a spoiled solution."""

    name: str
    kind: str
    happened: str = ""  # that no subject may do: end the process, replace what decides
    verdicts: dict[str, str] = field(default_factory=dict)
    help: dict[str, str] = field(default_factory=dict)
    named: list[str] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        """Whether every claim was made and held."""
        return bool(self.verdicts) and set(self.verdicts.values()) == {"yes"}

    @property
    def problem(self) -> str:
        """What the check got wrong about it, or nothing."""
        if self.happened:
            return self.happened
        if self.kind == "mistake":
            if self.accepted:
                return "a mistake was accepted"
            return "" if self.named == [self.name] else f"named as {self.named or 'nothing'}"
        refused = [f"{claim}: {self.help[claim]}" for claim, verdict in self.verdicts.items() if verdict != "yes"]
        return "" if self.accepted else f"refused: {'; '.join(refused) or 'no claim was made'}"


def survey(
    step: Step,
    tell: Tell = lambda event: None,
    *,
    seed: int = 0,
    without: Collection[str] = (),
    quiet_seconds: float = QUIET_SECONDS,
) -> Iterator[Surveyed]:
    """Grade the solution, the alternatives and the spoiled solutions of a step in one child.

    Where a subject ends the child, or lets it hear nothing for too long, that is its problem: another child grades
    the rest.

    Args:
        step: whose attempts.
        tell: hears what the child says besides, of compiling for example; last, the kernels that were used.
        seed: of the order in which they are graded.
        without: the names of those to leave out.
        quiet_seconds: how long one claim may take.

    Raises:
        RuntimeError: the child ended while it was at none of them.
    """
    left_out, running = list(without), ""
    job = Job(step.name, "survey", "", str(step.solution_file), compile=False, seed=seed)
    graded: list[Surveyed] = []
    events = run(replace(job, without=tuple(left_out)), quiet_seconds)
    while event := next(events, None):
        match event:
            case Started():
                running = event.subject
            case SubjectGraded():
                graded.append(Surveyed(event.name, event.kind, event.happened))
            case Claimed():
                graded[-1].verdicts[event.claim] = event.verdict
                graded[-1].help[event.claim] = event.help
            case MistakeNamed():
                graded[-1].named.append(event.sentence)
            case Late() | Died() if running and not graded:
                yield Surveyed(running, "unknown", f"it ended the survey: {event}")
                left_out.append(running)
                running = ""
                events = run(replace(job, without=tuple(left_out)), quiet_seconds)
            case Late() | Died() | MaxUnusable():
                raise RuntimeError(f"the survey of {step.name} ended early: {event}")
            case _:
                tell(event)
    yield from graded


def record_kernels() -> int:
    """Survey every step and record the kernels. Return 1 when a check got something wrong, as exit status."""
    used, wrong = {}, 0

    for step in all_steps():

        def note(event: Event, name: str = step.name) -> None:
            if isinstance(event, KernelsUsed):
                used[name] = event.used

        for subject in survey(step, note):
            if subject.problem:
                wrong += 1
                print(f"{step.name}: {subject.name} was {subject.problem}", file=sys.stderr)
        print(f"{relative_path(step.check_file)}: {len(used.get(step.name, []))} kernels", flush=True)
    RECORD.write_text(json.dumps(used, indent=1) + "\n")
    return 1 if wrong else 0
