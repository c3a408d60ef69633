"""Compile everything that a learner's command needs, so that nothing waits later.

It begins with MAX's own functions in Mojo, alone, for two processes at once would spoil them. Then comes what MAX
compiles together: kernels, graphs, the model that writes, and the one that is served, each in a process of its own, as
many at once as there are processors. Last, it runs the check of each solution. Whatever has been compiled is kept, so a
warm-up that was stopped continues where it was.

If steps are named, only those are checked, and their graphs are compiled one by one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import psutil
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from checker.course.paths import relative_path
from checker.course.steps import Step, all_steps
from checker.events import PASS, TRACED, Claimed, Died, Job, Late, MaxUnusable
from checker.session.child import Child
from checker.session.printer import Printer
from cli.processes import run_module
from play.serving.options import CannotServe, check_version

QUIET_SECONDS = 120.0  # for one claim on a solution, while the machine compiles


@dataclass(frozen=True)
class Work:
    """Something that MAX compiles, by ``python -m COMMAND`` in a process of its own.

    ``share`` is how much of the whole it is: about its seconds, alone on two cores; the check of a solution is 1.
    """

    what: str
    command: tuple[str, ...]
    share: int


FIRST = Work("the functions of MAX in Mojo", ("checker.max_adapter.imports",), 10)  # before others may import them
KERNELS = Work("the kernels of the model's steps", ("checker.claims.staging", "kernels", "model"), 45)
LATER = Work("the kernels of the later steps", ("checker.claims.staging", "kernels", "later"), 45)
GRAPHS = Work("the graphs of the solutions", ("checker.claims.staging", "graphs"), 125)
WRITING = Work("the model that writes", ("play.staging", "writing"), 65)
SERVING = Work("the model that is served", ("play.staging", "serving"), 75)
TO_TRACE = [FIRST, KERNELS, LATER]  # enough for checks that end with their pass
UNSERVED = [FIRST, GRAPHS, WRITING, KERNELS, LATER]  # all but the server's; after the first, the longest first


class Warming:
    """A warm-up, with a bar in a terminal, and a line for everything that is done.

    Args:
        total: the shares of all that is to be done.
    """

    def __init__(self, total: int) -> None:
        self.printer = Printer()
        self.printer.line("MAX compiles what is missing, and keeps it; the first time takes a few minutes.")
        columns = BarColumn(30), TextColumn("{task.percentage:3.0f}%"), TimeElapsedColumn()
        console = self.printer.console
        self.bar = Progress(
            *columns, TextColumn("{task.description}"), console=console, disable=not console.is_terminal, transient=True
        )
        self.task = self.bar.add_task("", total=total)

    def compile(self, works: Sequence[Work]) -> None:
        """Carry out works, the first one alone, and say what failed."""
        for together in (works[:1], works[1:]):
            todo = {work.what: partial(compile_one, work) for work in together}
            shares = {work.what: work.share for work in together}
            for what, output in self.do_all(todo, ", ".join(todo), shares):
                if output:
                    self.printer.line(f"  {what}: this failed, so MAX compiles them when they are needed. Its output:")
                    self.printer.line(output)

    def do_all(
        self, todo: Mapping[str, Callable[[], str]], about: str, shares: Mapping[str, int]
    ) -> Iterator[tuple[str, str]]:
        """Call functions in threads; yield their names and what they return, as they end.

        If it is closed before, as by Ctrl-C, what they have started is killed.

        Args:
            todo: the functions by their names.
            about: what the bar says.
            shares: how much each is of the whole, if it is not 1.
        """
        self.bar.update(self.task, description=about)
        pool = ThreadPoolExecutor(os.cpu_count())

        def timed(function: Callable[[], str]) -> tuple[str, float]:
            start = time.perf_counter()
            return function(), time.perf_counter() - start

        futures = {pool.submit(timed, function): what for what, function in todo.items()}
        try:
            for future in as_completed(futures):
                what, (output, seconds) = futures[future], future.result()
                self.bar.advance(self.task, shares.get(what, 1))
                self.printer.line(f"  {what} ({seconds:.0f} s)")
                yield what, output
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            while not all(future.done() for future in futures):
                for process in psutil.Process().children(recursive=True):
                    with suppress(psutil.NoSuchProcess):
                        process.kill()
                time.sleep(0.01)


def compile_one(work: Work) -> str:
    """Carry out some work; return its output if it fails."""
    run = run_module(*work.command)
    return run.output + run.errors if run.status else ""


def check(step: Step, *, compiled: bool) -> str:
    """Check the solution of a step in a child; return why it fails, or nothing."""
    source, path, reasons = step.solution_file.read_text(), str(step.solution_file), []
    with Child() as child:
        for event in child.run(Job(step=step.name, source=source, path=path, compile=compiled), QUIET_SECONDS):
            match event:
                case Claimed() if event.verdict not in (PASS, TRACED):
                    reasons.append(f"{event.sentence} {event.reason}")
                case MaxUnusable(sentence):
                    reasons.append(sentence)
                case Late() | Died():
                    reasons.append(f"its check ended early ({type(event).__name__})")
    return "\n".join(f"  {step.task}: {reason}" for reason in reasons)


def all_work() -> list[Work]:
    """Return what is to be compiled: one alone, then the others together; the server's only if it is installed."""
    with suppress(CannotServe):
        check_version()
        return [FIRST, GRAPHS, SERVING, *UNSERVED[2:]]
    return UNSERVED


def compile_missing(works: Sequence[Work]) -> None:
    """Compile what this machine does not have yet of ``works``: seconds if it has all."""
    warming = Warming(sum(work.share for work in works))
    with warming.bar:
        warming.compile(works)


def warm(named: Sequence[Step]) -> int:
    """Warm up the named steps, or everything; return the exit status, 1 if a solution fails."""
    steps, works = named or all_steps(), [] if named else all_work()
    warming, failed = Warming(sum(work.share for work in works) + len(steps)), False
    warming.printer.line("Ctrl-C stops it; the next run continues from there.")
    with warming.bar:
        warming.compile(works)
        checks = {
            relative_path(step.solution_file): partial(check, step, compiled=bool(named) or not step.compiles_long)
            for step in steps
        }
        for _, reasons in warming.do_all(checks, "the checks of the solutions", {}):
            if reasons:
                failed = True
                warming.printer.line(reasons)
    return int(failed)
