"""Run a check from the learner's file to its verdict: once for the command line, at every save for ``watch``."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from checker.course import progress
from checker.course.languages import Unreadable
from checker.course.paths import relative_path
from checker.course.static import read_statically
from checker.course.steps import Step
from checker.events import Decided, Event, Job
from checker.session.child import Child
from checker.session.printer import Printer
from checker.session.report import Report, print_static, print_unreadable
from checker.session.verdict import NO, YES, Verdict

MOST_SEEDS = 10_000


@dataclass
class Check:
    """A check whose file can be run: the job of its child, and the report that hears what the child says."""

    step: Step
    job: Job
    report: Report

    def hear(self, event: Event) -> None:
        """Report an event; keep the yes of a file that only has to be compiled."""
        self.report.hear(event)
        if isinstance(event, Decided) and self.report.is_yes_so_far:
            self._keep(lambda: progress.note_yes(self.step, self.job.source, compiled=False))

    def conclude(self) -> Verdict:
        """Print the last words and return the verdict; keep it for ``status``."""
        verdict = self.report.conclude()
        heard, source = self.report.heard, self.job.source
        if verdict.status == YES:
            self._keep(lambda: progress.note_yes(self.step, source, compiled=not self.report.left_out))
        elif heard.refused:
            self._keep(lambda: progress.note_no(self.step, source))
            if heard.traced:
                self._keep(lambda: self._keep_for_an_issue(verdict))
        return verdict

    def _keep_for_an_issue(self, verdict: Verdict) -> None:
        """Keep a no that only the compiler has found: the check should have seen it in what was traced."""
        said = "\n".join(f"{one.sentence}\n{one.where}".strip() for one in verdict.explanations)
        file = progress.keep_defect(self.step, f"{said}\n\n{self.job.source}")
        self.report.printer.line(
            f"\nOnly the compiler has found this, and the check should have found it before: please report it, with "
            f"{relative_path(file)}. The yes is taken back."
        )

    def _keep(self, note: Callable[[], None]) -> None:
        """Write down what a check of the learner's file said, if that is possible."""
        if self.job.kind != "learner" or self.job.device == "gpu":
            return
        try:
            note()
        except OSError as error:
            file = relative_path(progress.FILE)
            self.report.printer.line(f"(`status` will not know of it: {file} cannot be written, {error.strerror}.)")


def open_check(
    step: Step,
    printer: Printer,
    started: float,
    *,
    solution: bool = False,
    compile_: bool = True,
    device: str | None = None,
    show: str = "",
    seed: int | None = None,
) -> Check | int:
    """Read the file and print the static verdict.

    Args:
        step: the step to grade.
        printer: where the verdict goes.
        started: the time of ``time.perf_counter`` from which the verdict counts.
        solution: grade the reference solution instead of the learner's file.
        compile_: go on to the compiled verdict after the numbers.
        device: compile for this device alone.
        show: the function whose numbers are to be shown.
        seed: what another configuration is drawn from; chosen at random if it is left out.

    Returns:
        The check to run, or the exit status if the static verdict is a no.
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
    seed = random.randrange(MOST_SEEDS) if seed is None else seed
    job = Job(
        step.name,
        kind,
        static.source,
        str(path),
        compile_ and not show,
        device=device,
        show=show,
        seed=seed,
        gone=static.labels_gone,
    )
    report = Report(
        step,
        printer,
        static.labels_to_write,
        compile_=job.compile,
        gpu_decides=device == "gpu",
        started=started,
        source=static.source,
        show=show,
        seed=seed,
    )
    printer.begin(seed, complete=not report.left_out)
    return Check(step, job, report)


def grade(
    child: Child,
    step: Step,
    printer: Printer,
    *,
    solution: bool,
    compile_: bool,
    device: str | None,
    show: str,
    seed: int | None,
) -> int:
    """Check a step once in a child, print its verdict and return the exit status."""
    check = open_check(
        step, printer, time.perf_counter(), solution=solution, compile_=compile_, device=device, show=show, seed=seed
    )
    if isinstance(check, int):
        return check
    try:
        for event in child.run(check.job):
            check.hear(event)
    except KeyboardInterrupt:
        return check.report.interrupt()
    return check.conclude().status
