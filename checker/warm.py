"""Compile everything that a right answer needs, for every step, so that no check waits later.

First come the kernels, all at once, then the graphs of all solutions, all at once (``checker/max_adapter/graphs.py``),
at last the check of each solution. Where steps are named, only those are checked, and their graphs compiled one by one.
"""

from __future__ import annotations

import itertools
import os
import queue
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from checker.course.paths import ROOT, relative_path
from checker.course.steps import Step, all_steps, uses_max
from checker.events import Claimed, Compiling, Died, Ended, Event, Job, Late, MaxUnusable, Printed
from checker.session.child import run
from checker.session.printer import Printer

QUIET_SECONDS = 120.0  # for one claim on a solution, on a machine that compiles
TOLD_AFTER = 3.0  # seconds; what comes from the cache takes less

TOGETHER = [sys.executable, "-m", "checker.claims.staging"]  # in a process of its own: this one stays free of MAX

Heard = tuple[Step, Event]


def check_all(steps: list[Step], jobs: int) -> Iterator[Heard]:
    """Check the solutions of several steps at once, each in a child of its own; yield their events as they come."""
    heard: queue.Queue[Heard] = queue.Queue()

    def check(step: Step) -> None:
        job = Job(step.name, "solution", step.solution_file.read_text(), str(step.solution_file), naming=False)
        for event in run(job, QUIET_SECONDS):
            heard.put((step, event))

    with ThreadPoolExecutor(jobs) as pool:
        for step in steps:
            pool.submit(check, step)
        left = len(steps)
        while left:
            step, event = heard.get()
            left -= isinstance(event, Ended | Late | Died)
            yield step, event


def warm(named: list[Step], jobs: int | None = None) -> int:
    """Warm the steps named, or all; return the exit status, 1 when a solution was refused.

    Args:
        named: the steps, or none for all.
        jobs: how many at once; as many as processors, if not said.
    """
    steps = named or all_steps()
    printer, start = Printer(), time.perf_counter()
    printer.line("MAX compiles what the checks need, and keeps it; the first time takes some minutes.")

    if not named and subprocess.run(TOGETHER, cwd=ROOT, check=False).returncode:
        printer.line("The graphs could not be compiled together; they are compiled one by one, which takes longer.")
    first = [step for step in steps if uses_max(step)][:1]  # its check brings the kernels, for all
    rest = [step for step in steps if step not in first]
    wrong = set()
    for step, event in itertools.chain(check_all(first, 1), check_all(rest, jobs or os.cpu_count() or 1)):
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
    if wrong and not named:
        subprocess.run([*TOGETHER, "--forget"], cwd=ROOT, check=False)  # in case it was they that were wrong
    return 1 if wrong else 0
