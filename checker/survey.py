"""Grade everything that the check of a step must get right: ``python -m checker.survey [07 …]``.

The solution and every alternative must be accepted; every spoiled solution must be refused, with the
sentence of its own mistake; no learner's file is looked at. ``warm`` is this too: it leaves behind
every kernel that a check can need.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from checker import grading
from checker.paths import Step, all_steps, find_step, shown
from checker.verdict import Printer


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


def survey(step: Step, printer: Printer, *, compile_: bool = False) -> Iterator[Surveyed]:
    """Grade the solution, the alternatives and the spoiled solutions of a step in one child.

    Raises:
        RuntimeError: the child ended before it had graded them all.
    """
    job = grading.Job(step, "survey", "", str(step.solution_file), compile_)
    subject: Surveyed | None = None
    for event in grading.run(job):
        match event["event"]:
            case "subject" | "end":
                if subject:
                    yield subject
                subject = Surveyed(event["name"], event["kind"]) if event["event"] == "subject" else None
            case "claim" if subject:
                subject.verdicts[event["claim"]] = event["verdict"]
                subject.help[event["claim"]] = event["help"]
            case "mistake" if subject:
                subject.named.append(event["sentence"])
            case "printed":
                printer.printed(event["text"])
            case "late" | "died":
                raise RuntimeError(f"the survey of {step.name} ended early ({event['event']}) at {subject}")
            case _:
                printer.progress(event)


def main() -> int:
    """Survey the steps named, or all. Exit status 1 when the check of one got something wrong."""
    parser = argparse.ArgumentParser(prog="warm", description="Compile every kernel that the checks can need.")
    parser.add_argument("steps", nargs="*", help="07, s07 or w01; all when none is named")
    try:
        steps = [find_step(text) for text in parser.parse_args().steps] or all_steps()
    except ValueError as error:
        print(f"warm: {error}", file=sys.stderr)
        return 2
    printer, wrong = Printer(), 0
    for step in steps:
        start = time.perf_counter()
        kinds: dict[str, int] = {}
        for subject in survey(step, printer, compile_=True):
            kinds[subject.kind] = kinds.get(subject.kind, 0) + 1
            if subject.problem:
                wrong += 1
                printer.line(f"  {step.name}: {subject.name} was {subject.problem}")
        count = ", ".join(f"{number} {kind}{'s' if number > 1 else ''}" for kind, number in kinds.items())
        printer.line(f"{shown(step.check_file)}: {count} in {time.perf_counter() - start:.1f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
