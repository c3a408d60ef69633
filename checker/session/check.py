"""A check from the learner's file to its verdict: the command line runs one, ``watch`` one at every save."""

from __future__ import annotations

import time
from dataclasses import dataclass

from checker.course import progress
from checker.course.paths import relative_path
from checker.course.static import Unreadable, read_statically
from checker.course.steps import Step
from checker.events import Job
from checker.session.child import Child
from checker.session.printer import Printer
from checker.session.report import Report, print_static, print_unreadable
from checker.session.verdict import NO, YES


@dataclass
class Check:
    """A check whose file can be run: the job of its child, and the report that hears what the child says."""

    step: Step
    job: Job
    report: Report

    def conclude(self) -> int:
        """Print the last words and return the exit status; keep the verdict for ``status``."""
        verdict = self.report.conclude()
        job = self.job
        if job.kind == "learner" and job.device != "gpu":
            try:
                if verdict.status == YES:
                    progress.note_yes(self.step, job.source, compiled=not self.report.left_out)
                elif self.report.heard.refused:
                    progress.note_no(self.step, job.source)
            except OSError as error:
                file = relative_path(progress.FILE)
                self.report.printer.line(f"(`status` will not know of it: {file} cannot be written, {error.strerror}.)")
        return verdict.status


def open_check(
    step: Step,
    printer: Printer,
    started: float,
    *,
    solution: bool = False,
    compile_: bool = True,
    device: str | None = None,
) -> Check | int:
    """Read the file and print the static verdict.

    Args:
        step: the step to grade.
        printer: where the verdict goes.
        started: the time of ``time.perf_counter`` from which the verdict counts.
        solution: grade the reference solution instead of the learner's file.
        compile_: go on to the compiled verdict after the numbers.
        device: compile for this device alone.

    Returns:
        The check to run, or the exit status where the static verdict is a no.
    """
    path = step.solution_file if solution else step.learner_file
    printer.line(f"{relative_path(path)}\n")
    try:
        static = read_statically(step, path, is_solution=solution)
    except Unreadable as error:
        print_unreadable(error, printer)
        return NO
    print_static(static, printer)
    if not static.can_be_tried:
        return NO
    kind = "solution" if solution else "learner"
    job = Job(step.name, kind, static.source, str(path), compile_, device=device)
    to_write, gpu_decides = static.labels_to_write, device == "gpu"
    report = Report(step, printer, to_write, compile_=compile_, gpu_decides=gpu_decides, started=started)
    return Check(step, job, report)


def grade(child: Child, step: Step, printer: Printer, *, solution: bool, compile_: bool, device: str | None) -> int:
    """Check a step once by a child, print its verdict and return the exit status."""
    check = open_check(step, printer, time.perf_counter(), solution=solution, compile_=compile_, device=device)
    if isinstance(check, int):
        return check
    try:
        for event in child.run(check.job):
            check.report.hear(event)
    except KeyboardInterrupt:
        return check.report.interrupt()
    return check.conclude()
