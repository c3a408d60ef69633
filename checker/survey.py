"""Grade everything that the check of a step must get right; no learner's file is looked at.

The solution and every alternative must be accepted; every spoiled solution must be refused, with the
sentence of its own mistake: ``tests/dev/test_checks.py`` demands it.

``python -m checker.survey [07 …]`` is the task ``warm``: the same without the sentences, for the sake of
what it leaves behind, every kernel that a check can need.
"""

from __future__ import annotations

import argparse
import os
import queue
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from checker import grading
from checker.paths import Step, all_steps, find_step, shown
from checker.verdict import Printer

TOLD_AFTER = 3.0  # seconds; what comes from the cache takes less

Tell = Callable[[grading.Event], None]


@dataclass
class Surveyed:
    """What the check said of one subject: the solution, an alternative or a spoiled solution."""

    name: str
    kind: str
    verdicts: dict[str, str] = field(default_factory=dict)
    help: dict[str, str] = field(default_factory=dict)
    named: list[str] | None = None  # nobody asked

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
            return "" if self.named in (None, [self.name]) else f"named as {self.named or 'nothing'}"
        refused = [f"{claim}: {self.help[claim]}" for claim, verdict in self.verdicts.items() if verdict != "yes"]
        return "" if self.accepted else f"refused: {'; '.join(refused) or 'no claim was made'}"


def survey(step: Step, tell: Tell = lambda event: None, *, warm: bool = False) -> Iterator[Surveyed]:
    """Grade the solution, the alternatives and the spoiled solutions of a step in one child.

    What the child says besides, of compiling for example, goes to ``tell``. To ``warm`` is to leave
    every kernel compiled: the solution's graph too, but no time is spent on naming mistakes.

    Raises:
        RuntimeError: the child ended before it had graded them all.
    """
    job = grading.Job(step, "survey", "", str(step.solution_file), compile=warm, naming=not warm)
    subject: Surveyed | None = None
    for event in grading.run(job):
        match event["event"]:
            case "subject" | "end":
                if subject:
                    yield subject
                named: list[str] | None = None if warm else []
                subject = Surveyed(event["name"], event["kind"], named=named) if event["event"] == "subject" else None
            case "claim" if subject:
                subject.verdicts[event["claim"]] = event["verdict"]
                subject.help[event["claim"]] = event["help"]
            case "mistake" if subject and subject.named is not None:
                subject.named.append(event["sentence"])
            case "late" | "died":
                raise RuntimeError(f"the survey of {step.name} ended early ({event['event']}) at {subject}")
            case _:
                tell(event)


def survey_all(steps: list[Step], jobs: int) -> Iterator[tuple[Step, grading.Event | list[Surveyed]]]:
    """Survey several steps at once, each in a child of its own.

    Yields what the children tell as it comes, and with the last of a step everything surveyed of it.
    """
    told: queue.Queue[tuple[Step, grading.Event | list[Surveyed] | Exception]] = queue.Queue()

    def survey_one(step: Step) -> None:
        try:
            told.put((step, list(survey(step, lambda event: told.put((step, event)), warm=True))))
        except Exception as error:
            told.put((step, error))

    with ThreadPoolExecutor(jobs) as pool:
        for step in steps:
            pool.submit(survey_one, step)
        left = len(steps)
        while left:
            step, what = told.get()
            if isinstance(what, Exception):
                pool.shutdown(wait=False, cancel_futures=True)
                raise what
            left -= isinstance(what, list)
            yield step, what


def main() -> int:
    """Survey the steps named, or all. Exit status 1 when the check of one got something wrong."""
    parser = argparse.ArgumentParser(prog="warm", description="Compile every kernel that the checks can need.")
    parser.add_argument("steps", nargs="*", help="07, s07 or w01; all when none is named")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="steps at once; as many as processors")
    options = parser.parse_args()
    try:
        steps = [find_step(text) for text in options.steps] or all_steps()
    except ValueError as error:
        print(f"warm: {error}", file=sys.stderr)
        return 2
    printer, wrong, start = Printer(), 0, time.perf_counter()
    printer.line(f"Grading the solutions of {len(steps)} steps, and every known mistake and alternative. What MAX")
    printer.line("compiles for that, it keeps; the first time takes several minutes.")
    for step, what in survey_all(steps, options.jobs):
        if isinstance(what, dict):
            if what["event"] == "printed":
                printer.printed(what["text"])
            elif what["event"] == "compiling" and (what["seconds"] or 0) > TOLD_AFTER:
                printer.line(f"  {step.task}: compiled {what['what']} in {what['seconds']:.0f} s")
            continue
        kinds = [subject.kind for subject in what]
        count = ", ".join(f"{kinds.count(kind)} {kind}s" for kind in ("alternative", "mistake"))
        printer.line(f"{shown(step.check_file)}: the solution, {count} ({time.perf_counter() - start:.0f} s)")
        for subject in what:
            if subject.problem:
                wrong += 1
                printer.line(f"  {subject.name} was {subject.problem}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
