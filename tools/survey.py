"""Grade everything that the check of a step must get right; no learner's file is looked at.

The solution and every alternative must be accepted; every spoiled solution must be refused, with the
sentence of its own mistake: ``tests/dev/session/test_checks.py`` demands it.

``./run kernels`` does that for every step and records which of MAX's kernels it took.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from checker.course.paths import RECORDED_KERNELS as RECORD
from checker.course.paths import relative_path
from checker.course.steps import Step, all_steps
from checker.events import Claimed, Died, Ended, Event, Job, KernelsUsed, Late, MaxUnusable, MistakeNamed, SubjectGraded
from checker.session.child import run

QUIET_SECONDS = 120.0  # for one claim: this is no learner's code, and the machine may be busy

Tell = Callable[[Event], None]


@dataclass
class Surveyed:
    """What the check said of one subject: the solution, an alternative or a spoiled solution."""

    name: str
    kind: str
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
        if self.kind == "mistake":
            if self.accepted:
                return "a mistake was accepted"
            return "" if self.named == [self.name] else f"named as {self.named or 'nothing'}"
        refused = [f"{claim}: {self.help[claim]}" for claim, verdict in self.verdicts.items() if verdict != "yes"]
        return "" if self.accepted else f"refused: {'; '.join(refused) or 'no claim was made'}"


def survey(step: Step, tell: Tell = lambda event: None) -> Iterator[Surveyed]:
    """Grade the solution, the alternatives and the spoiled solutions of a step in one child.

    What the child says besides, of compiling for example, goes to ``tell``; last, the kernels that were used.

    Raises:
        RuntimeError: the child ended before it had graded them all.
    """
    job = Job(step.name, "survey", "", str(step.solution_file), compile=False)
    subject: Surveyed | None = None
    for event in run(job, QUIET_SECONDS):
        match event:
            case SubjectGraded() | Ended():
                if subject:
                    yield subject
                subject = Surveyed(event.name, event.kind) if isinstance(event, SubjectGraded) else None
            case Claimed() if subject:
                subject.verdicts[event.claim] = event.verdict
                subject.help[event.claim] = event.help
            case MistakeNamed() if subject:
                subject.named.append(event.sentence)
            case Late() | Died() | MaxUnusable():
                raise RuntimeError(f"the survey of {step.name} ended early ({event}) at {subject}")
            case _:
                tell(event)


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
