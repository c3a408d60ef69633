"""Compile everything that a learner's command needs, so that nothing waits later.

It begins with MAX's own functions in Mojo, alone, for two processes at once would spoil them. Then comes what MAX
compiles together: kernels, graphs, the model that writes, and the one that is served, each in a process of its own, as
many at once as there are processors. Last, it runs the check of each solution. Whatever has been compiled is kept, so a
warm-up that was stopped continues where it was.

If steps are named, only those are checked, and their graphs are compiled one by one.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from checker.course.paths import ROOT, relative_path
from checker.course.steps import Step, all_steps
from checker.events import PASS, TRACED, Claimed, Died, Ended, Event, Job, Late, MaxUnusable
from checker.session.child import run
from checker.session.printer import Printer
from play.serving.options import CannotServe, check_version

QUIET_SECONDS = 120.0  # for one claim on a solution, while the machine compiles
LOOK_SECONDS = 0.1
CHECK_SHARE = 1  # of the whole work, as the shares below

Heard = tuple[Step, Event]


@dataclass(frozen=True)
class Work:
    """Something that MAX compiles, by ``python -m COMMAND`` in a process of its own.

    ``share`` is how much of the whole it is: about its seconds, alone on two cores.
    """

    what: str
    command: tuple[str, ...]
    share: int


@dataclass
class Running:
    """Work that has been started."""

    work: Work
    process: subprocess.Popen[bytes]
    said: IO[bytes]
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.perf_counter() - self.started


FIRST = Work("the functions of MAX in Mojo", ("checker.max_adapter.imports",), 10)  # before others may import them
KERNELS = Work("the kernels of the model's steps", ("checker.claims.staging", "kernels", "model"), 45)
LATER = Work("the kernels of the later steps", ("checker.claims.staging", "kernels", "later"), 45)
GRAPHS = Work("the graphs of the solutions", ("checker.claims.staging", "graphs"), 125)
WRITING = Work("the model that writes", ("play.staging", "writing"), 65)
SERVING = Work("the model that is served", ("play.staging", "serving"), 75)
TO_TRACE = [FIRST, KERNELS, LATER]  # enough for checks that end with their pass
UNSERVED = [FIRST, GRAPHS, WRITING, KERNELS, LATER]  # all but the server's; after the first, the longest first
BEGINNING = "MAX compiles what is missing, and keeps it; the first time takes a few minutes."


class Warming:
    """The progress of a warm-up: a bar in a terminal, else a line for everything that is done."""

    def __init__(self, printer: Printer, works: Sequence[Work], steps: Sequence[Step]) -> None:
        self.printer, self.left, self.seconds = printer, [work.what for work in works], dict[str, float]()
        columns = (
            BarColumn(30),
            TextColumn("{task.percentage:3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
        )
        self.bar = Progress(*columns, console=printer.console, disable=not printer.console.is_terminal, transient=True)
        self.task = self.bar.add_task("", total=sum(work.share for work in works) + CHECK_SHARE * len(steps))

    def running(self, works: Sequence[str]) -> None:
        """Say what is being done, and what is left."""
        later = [what for what in self.left if what not in works]
        self.bar.update(self.task, description=", ".join(works) + (f"; then {', '.join(later)}" if later else ""))

    def done(self, what: str, seconds: float, share: int) -> None:
        """Say that something is done."""
        self.seconds[what] = seconds
        self.left = [other for other in self.left if other != what]
        self.bar.advance(self.task, share)
        self.printer.line(f"  {what} ({seconds:.0f} s)")

    def report(self) -> None:
        """Print how long each part took, the longest first."""
        self.printer.line("\nseconds  what")
        for what, seconds in sorted(self.seconds.items(), key=lambda one: -one[1]):
            self.printer.line(f"{seconds:7.1f}  {what}")


def start(work: Work) -> Running:
    """Start some work in a process group of its own; what it says is kept."""
    said = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process is)
    process = subprocess.Popen(
        [sys.executable, "-m", *work.command], cwd=ROOT, stdout=said, stderr=said, start_new_session=True
    )
    return Running(work, process, said)


def carry_out(works: Sequence[Work], jobs: int, warming: Warming) -> Iterator[tuple[Work, str]]:
    """Carry out ``works``, ``jobs`` at a time; yield those that failed, and what they said."""
    waiting, running = list(works), list[Running]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(start(waiting.pop(0)))
                warming.running([one.work.what for one in running])
            time.sleep(LOOK_SECONDS)
            for one in [one for one in running if one.process.poll() is not None]:
                running.remove(one)
                warming.done(one.work.what, one.seconds, one.work.share)
                with one.said as said:
                    said.seek(0)
                    text = said.read().decode(errors="replace")
                if one.process.returncode:
                    yield one.work, text
    finally:
        for one in running:
            with suppress(ProcessLookupError):
                os.killpg(one.process.pid, signal.SIGKILL)
            one.process.wait()
            one.said.close()


def check_all(steps: Sequence[Step], jobs: int, *, all_compiled: bool) -> Iterator[Heard]:
    """Check the solutions of several steps at once, each in a child of its own; yield their events as they come.

    Without ``all_compiled``, those that take long to compile are not compiled.
    """
    heard: queue.Queue[Heard] = queue.Queue()

    def check(step: Step) -> None:
        source, compiled = step.solution_file.read_text(), all_compiled or not step.compiles_long
        job = Job(step.name, source, str(step.solution_file), compile=compiled, naming=False)
        for event in run(job, QUIET_SECONDS):
            heard.put((step, event))

    pool = ThreadPoolExecutor(jobs)
    try:
        for step in steps:
            pool.submit(check, step)
        left = len(steps)
        while left:
            step, event = heard.get()
            left -= isinstance(event, Ended | Late | Died)
            yield step, event
    finally:
        pool.shutdown(cancel_futures=True)


def all_work(*, checks_only: bool) -> list[Work]:
    """Return what is to be compiled: one alone, then the others together; the server's only if it is installed."""
    if checks_only:
        return [FIRST, GRAPHS, KERNELS, LATER]
    with suppress(CannotServe):
        check_version()
        return [FIRST, GRAPHS, SERVING, *UNSERVED[2:]]
    return UNSERVED


def compile_all(works: Sequence[Work], jobs: int, warming: Warming) -> None:
    """Carry out ``works``, the first one alone, and say what failed."""
    for together in (works[:1], works[1:]):
        for work, said in carry_out(together, jobs, warming):
            warming.printer.line(f"  {work.what}: this failed, so MAX compiles them when they are needed. It said:")
            warming.printer.line(said)


def compile_missing(works: Sequence[Work] = UNSERVED) -> None:
    """Compile what this machine does not have yet of ``works``: seconds if it has all."""
    printer = Printer()
    printer.line(BEGINNING)
    warming = Warming(printer, works, [])
    with warming.bar:
        compile_all(works, os.cpu_count() or 1, warming)


def warm(named: list[Step], jobs: int | None = None, *, checks_only: bool = False, report: bool = False) -> int:
    """Warm up the named steps, or everything; return the exit status, 1 if a solution was refused.

    Args:
        named: the steps, or none for everything.
        jobs: how many at once; by default, as many as there are processors.
        checks_only: leave out what only the finished model needs.
        report: print at the end how long each part took, the longest first.
    """
    steps, works = named or all_steps(), [] if named else all_work(checks_only=checks_only)
    jobs, printer, started = jobs or os.cpu_count() or 1, Printer(), dict[Step, float]()
    printer.line(BEGINNING)
    printer.line("Ctrl-C stops it; the next run continues from there.")
    warming, wrong = Warming(printer, works, steps), set[Step]()
    with warming.bar:
        compile_all(works, jobs, warming)
        warming.running(["the checks of the solutions"])
        for step, event in check_all(steps, jobs, all_compiled=bool(named)):
            started.setdefault(step, time.perf_counter())
            match event:
                case Claimed() if event.verdict not in (PASS, TRACED):
                    wrong.add(step)
                    printer.line(f"  {step.task}: {event.sentence} {event.reason}")
                case MaxUnusable(sentence):
                    wrong.add(step)
                    printer.line(f"  {step.task}: {sentence}")
                case Late() | Died():
                    wrong.add(step)
                    printer.line(f"  {step.task}: its check ended early ({type(event).__name__})")
                case Ended():
                    seconds = time.perf_counter() - started[step]
                    warming.done(relative_path(step.solution_file), seconds, CHECK_SHARE)
    if report:
        warming.report()
    if wrong and GRAPHS in works:
        subprocess.run(
            [sys.executable, "-m", GRAPHS.command[0], "forget"], cwd=ROOT, check=False
        )  # in case they are to blame
    return 1 if wrong else 0
