"""Compile everything that a right answer needs, for every step, so that no check waits later.

``python -m checker.warm [07 …]`` is the task ``warm``: first the kernels, all at once, then the graphs of all
solutions, all at once (``checker/max_adapter/graphs.py``), at last the check of each solution. Where steps are named, only
those are checked, and their graphs compiled one by one.
"""

from __future__ import annotations

import argparse
import itertools
import os
import queue
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from checker import interrupts
from checker.course.paths import ROOT, relative_path
from checker.course.steps import Step, all_steps, find_step, uses_max
from checker.events import Claimed, Compiling, Died, Ended, Event, Job, Late, MaxUnusable, Printed
from checker.session.child import run
from checker.session.printer import Printer

TOLD_AFTER = 3.0  # seconds; what comes from the cache takes less

TOGETHER = [sys.executable, "-m", "checker.claims.staging"]  # in a process of its own: this one stays free of MAX

Heard = tuple[Step, Event]


def check_all(steps: list[Step], jobs: int) -> Iterator[Heard]:
    """Check the solutions of several steps at once, each in a child of its own; yields what they tell as it comes."""
    heard: queue.Queue[Heard] = queue.Queue()

    def check(step: Step) -> None:
        job = Job(step.name, "solution", step.solution_file.read_text(), str(step.solution_file), naming=False)
        for event in run(job):
            heard.put((step, event))

    with ThreadPoolExecutor(jobs) as pool:
        for step in steps:
            pool.submit(check, step)
        left = len(steps)
        while left:
            step, event = heard.get()
            left -= isinstance(event, Ended | Late | Died)
            yield step, event


def main() -> int:
    """Warm the steps named, or all. Exit status 1 when a solution was refused."""
    interrupts.restore()
    parser = argparse.ArgumentParser(prog="warm", description="Compile everything that the checks need.")
    parser.add_argument("steps", nargs="*", help="07, s07 or w01; all when none is named")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="steps at once; as many as processors")
    options = parser.parse_args()
    try:
        steps = [find_step(text) for text in options.steps] or all_steps()
    except ValueError as error:
        print(f"warm: {error}", file=sys.stderr)
        return 2
    printer, start = Printer(), time.perf_counter()
    printer.line("MAX compiles what the checks need, and keeps it; the first time takes some minutes.")

    if not options.steps and subprocess.run(TOGETHER, cwd=ROOT, check=False).returncode:
        printer.line("The graphs could not be compiled together; they are compiled one by one, which takes longer.")
    first = [step for step in steps if uses_max(step)][:1]  # its check brings the kernels, for all
    rest = [step for step in steps if step not in first]
    wrong = set()
    for step, event in itertools.chain(check_all(first, 1), check_all(rest, options.jobs)):
        match event:
            case Printed(text):
                printer.printed(text)
            case Compiling() if (event.seconds or 0) > TOLD_AFTER:
                printer.line(f"  {step.task}: compiled {event.what} in {event.seconds:.0f} s")
            case Claimed() if event.verdict != "yes":
                wrong.add(step)
                printer.line(f"  {step.task}: {event.sentence} {event.help}")
            case MaxUnusable(sentence):
                wrong.add(step)
                printer.line(f"  {step.task}: {sentence}")
            case Late() | Died():
                wrong.add(step)
                printer.line(f"  {step.task}: its check ended early ({type(event).__name__})")
            case Ended():
                printer.line(f"{relative_path(step.solution_file)} ({time.perf_counter() - start:.0f} s)")
    if wrong and not options.steps:
        subprocess.run([*TOGETHER, "--forget"], cwd=ROOT, check=False)  # in case it was they that were wrong
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
