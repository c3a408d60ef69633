"""A check from the learner's file to its verdict, for those who run one: ``cli`` once, ``watch`` at every save."""

from __future__ import annotations

from dataclasses import dataclass

from checker.course import progress
from checker.course.paths import relative_path
from checker.course.static import readable_source, still_to_write
from checker.course.steps import Step
from checker.session.child import Job
from checker.session.printer import Printer
from checker.session.report import YES, Report


@dataclass
class Check:
    """A check whose file can be run: what a child is to do, and the report that hears what it tells."""

    job: Job
    report: Report

    def conclude(self) -> int:
        """The last words, and the exit status. A yes without reserve is kept, so that ``status`` knows of it."""
        status = self.report.conclude()
        job = self.job
        if status == YES and job.kind == "learner" and job.compile and job.device != "gpu":
            try:
                progress.note_yes(job.step, job.source)
            except OSError as error:
                file = relative_path(progress.FILE)
                self.report.printer.line(f"(`status` will not know of it: {file} cannot be written, {error.strerror}.)")
        return status


def begin(
    step: Step,
    printer: Printer,
    started: float,
    *,
    solution: bool = False,
    compile_: bool = True,
    device: str | None = None,
) -> Check | None:
    """Read the file and print the static verdict; None when that is a no.

    Args:
        step: the step to grade.
        printer: where the verdict goes.
        started: the time of ``time.perf_counter`` from which the verdict counts.
        solution: grade the reference solution instead of the learner's file.
        compile_: go on to the compiled verdict after the numbers.
        device: compile for this device alone.
    """
    path = step.solution_file if solution else step.learner_file
    printer.line(f"{relative_path(path)}\n")
    source = readable_source(path, printer)
    if source is None:
        return None
    missing = [] if solution else still_to_write(step, source, printer)
    if missing is None:
        return None
    job = Job(step, "solution" if solution else "learner", source, str(path), compile_, device=device)
    return Check(job, Report(step, printer, missing, compile_, device == "gpu", started))
