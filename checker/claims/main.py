"""The child process: runs the claims of a step on a learner's file, and sends the parent what they say.

A learner's file may hang, print, exit or kill its process; all of that happens here. A job comes in, and events go to
the parent (``checker.lines``).

``python -m checker.claims.main [STEP]`` receives one job. With a step, it first imports what that step's check needs,
so that a later job need not wait for it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import signal
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

from checker import compiling, events
from checker.claims.loading import load_code, load_step
from checker.claims.observation import ClaimsToRun, Send, fault_of_check, import_claims, run_claims, unheard
from checker.course.blanks import blanks_of
from checker.course.languages import Unreadable
from checker.course.source import Source
from checker.course.steps import SOLUTIONS, Kind, Step, claims_of, optional_in, uses_max
from checker.diagnosis.outcomes import Outcomes
from checker.errors import UserError
from checker.events import FromChild, Job, Mark, Stage, encode
from checker.lines import Starter, end_with_the_starter

if TYPE_CHECKING:  # a pass needs no explanation
    from checker.diagnosis.explaining import Diagnosis, Explainer
    from checker.diagnosis.mistakes import Answers


SUBJECT = "subject"  # the name of the learner's module among those that are graded


def load_file(step: Step, job: Job, send: Send) -> ModuleType | None:
    """Run the learner's file; report why if that fails."""
    try:
        name = f"steps.{step.name if job.solution else Path(job.path).stem}"
        return load_step(step, name, Source(job.source), job.path)
    except Unreadable as error:
        send(events.Unloadable(str(error), error.location))
    except UserError as error:  # where Mojo cannot compile
        send(events.CheckFailed(str(error)))
    except BaseException as error:
        from checker.course.forms import changed_since
        from checker.diagnosis.corrections import location_of
        from checker.diagnosis.exceptions import error_in_words, is_of_max

        words = error_in_words(error)
        if isinstance(error, ImportError) and (error.name or "").startswith(f"{SOLUTIONS.name}."):
            words += changed_since(step, Source(job.source))
        send(events.Unloadable(words, location_of(error, job.path), is_of_max(error, job.path)))
    return None


def find_missing(step: Step, job: Job, module: ModuleType, send: Send) -> list[str]:
    """Report the functions with a blank that a file lacks, although it has run; return their labels."""
    if not step.language.is_run:
        return []
    blanks = [blank.function for blank in blanks_of(step) if blank.label not in optional_in(step)]
    source = Source(job.source)
    if set(blanks) <= step.language.functions(source).keys():
        return []  # as in most files
    from checker.claims.missing import missing_from

    missing = missing_from(module, source, blanks)
    if missing:
        send(events.Missing(missing))
    return [function.rpartition(".")[2] for function in missing]


class Grader:
    """Grades the learner's module, stage after stage.

    Args:
        step: whose claims.
        job: the work.
        module: what the file has made.
        to_write: the labels of the functions that are still to write, or that the module lacks.
        send: is given every event.
    """

    def __init__(self, step: Step, job: Job, module: ModuleType, to_write: Collection[str], send: Send) -> None:
        self.step, self.job, self.module, self.to_write, self.send = step, job, module, to_write, send

    def grade(self) -> None:
        """Report what every claim says of the file, and then why some fail, or the result of compiling."""
        seeds = [self.job.seed]
        outcomes = self.run_stage(Stage.NUMBERS)
        is_drawn = all_pass(outcomes)
        if is_drawn:
            outcomes = {**outcomes, **self.run_stage(Stage.DRAWN, seeds=seeds)}
        if any_fails(outcomes):
            self.explain_failures(outcomes, seeds if is_drawn else ())
        elif self.job.compile and all_pass(outcomes) and Kind.COMPILED in claims_of(self.step).values():
            self.compile()

    def compile(self) -> None:
        """Report the compiled claims up to where MAX compiles, and then to their end; on a GPU after the verdict."""
        device = self.job.device or "cpu"
        outcomes = self.run_stage(Stage.TRACING, device=device)
        if any_fails(outcomes):
            return  # nobody waits for a compiler to hear that
        if traced := [claim for claim, outcome in outcomes.items() if outcome.mark == Mark.TRACED]:
            outcomes = {**outcomes, **self.run_stage(Stage.COMPILED, traced, device=device)}
        from checker.max_adapter.runtime import devices

        if not self.job.device and all_pass(outcomes) and "gpu" in devices():
            self.run_stage(Stage.ON_GPU, device="gpu")

    def run_stage(
        self, stage: Stage, claims: Collection[str] | None = None, seeds: Sequence[int] = (), device: str | None = None
    ) -> Outcomes:
        """Report and return the outcome of these claims of a stage, or of all."""
        only = None if claims is None else {SUBJECT: claims}
        show, subjects = bool(self.job.show), {SUBJECT: self.module}
        asked = ClaimsToRun(self.step, subjects, stage, seeds, only, device, show=show, to_write=self.to_write)
        outcomes = run_claims(asked, self.send)
        self.send(events.StageEnded(stage))
        return outcomes[SUBJECT]

    def explain_failures(self, outcomes: Outcomes, seeds: Sequence[int]) -> None:
        """Report why claims fail, and the numbers that were asked for."""
        silence()
        answers: Answers | None = None  # those that were recorded
        if self.job.hunt:
            answers = {}  # no mistake can be named: the learner is to find it
        explainer = explainer_of(self.step, seeds, self.send_busy, answers=answers, show=bool(self.job.show))
        diagnosis = explainer.diagnose(outcomes, Source(self.job.source), self.job.path, self.to_write)
        for explained in diagnosis.explained:
            self.send(explained)
        if self.job.show:
            self.report_numbers(diagnosis)

    def send_busy(self, event: FromChild) -> None:
        """Report that this process is at work: what claims say while a failure is explained is no outcome."""
        self.send(events.Busy())

    def report_numbers(self, diagnosis: Diagnosis) -> None:
        """Report the numbers of the function that was asked for beside the right ones."""
        from checker.numeric.showing import shown

        label = self.job.show
        blamed = [blame for blame in diagnosis.blamed if blame.label == label]
        compared = [outcome.compared for blame in blamed for outcome in blame.outcomes.values() if outcome.compared]
        self.send(events.Shown(label, shown(compared[0]) if compared else ()))


def explainer_of(
    step: Step, seeds: Sequence[int] = (), send: Send = unheard, *, answers: Answers | None = None, show: bool = False
) -> Explainer:
    """Return what explains failures.

    Args:
        step: whose claims.
        seeds: of the configurations on which the claims failed, if they were drawn: no mistake was recorded on them.
        send: is given every event of the claims that it tries.
        answers: of the known mistakes, if they are not those that were recorded.
        show: whether what is compared is recorded, with what the functions were given.
    """
    from checker.diagnosis.explaining import Explainer
    from checker.diagnosis.mistakes import KnownMistakes

    known = KnownMistakes(step, {} if seeds else answers)
    return Explainer(step, ClaimTrials(step, seeds, send, show), known)


@dataclass(frozen=True)
class ClaimTrials:
    """Tries code that was put together, to explain failures; :func:`explainer_of` says what each attribute means."""

    step: Step
    seeds: Sequence[int]
    send: Send
    show: bool

    def run(
        self, codes: Mapping[str, CodeType], claims: Mapping[str, Collection[str]], *, show: bool = False
    ) -> Mapping[str, Outcomes]:
        """Run claims on each code; return the outcomes, by the same names, of those that can be run as a module."""
        subjects = dict[str, ModuleType]()
        for number, (name, code) in enumerate(codes.items()):
            if module := try_to_load(f"graded.tried_{number}", code):
                subjects[name] = module
        stage, show = Stage.DRAWN if self.seeds else Stage.NUMBERS, show or self.show
        return run_claims(ClaimsToRun(self.step, subjects, stage, self.seeds, claims, show=show), self.send)


def try_to_load(name: str, code: CodeType) -> ModuleType | None:
    """Run code as a module; None if that raises an error."""
    with contextlib.suppress(Exception, SystemExit):
        return load_code(name, code)
    return None


def any_fails(outcomes: Outcomes) -> bool:
    """Return whether a claim fails."""
    return any(outcome.mark == Mark.FAIL for outcome in outcomes.values())


def all_pass(outcomes: Outcomes) -> bool:
    """Return whether there are claims, and all hold."""
    return {outcome.mark for outcome in outcomes.values()} == {Mark.PASS}


def silence() -> None:
    """Drop what is printed from now on: an explanation runs the learner's file again, whose output has been seen."""
    sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def import_max(step: Step) -> None:
    """Import MAX and hook into it, if a step needs it."""
    if not uses_max(step):
        return
    gc.disable()  # it would scan all of MAX's objects several times as they are made, which takes 0.17 s
    from checker.max_adapter.hooks import install_hooks

    install_hooks()
    import checker.claims.modules  # noqa: F401 - the rest of MAX, which every such check file imports

    gc.freeze()  # what has been imported is not scanned again
    gc.enable()


def prepare_ahead(step: Step) -> None:
    """Do beforehand what a check of ``step`` does before it looks at the learner's file.

    pytest collects the check file but runs none of it; MAX runs one operation, which starts its threads.
    """
    import_max(step)
    run_claims(ClaimsToRun(step, {}))
    if uses_max(step):
        from checker.max_adapter.runtime import start_threads

        start_threads()


def receive_job(parent: Starter) -> Job | None:
    """Wait for the job and return it; None if the parent has started this process ahead, and does not need it."""
    message = next(parent.messages(), None)
    if message is None:
        return None
    end_with_the_starter(sys.stdin.fileno())
    sys.stdin.close()  # input() fails at once; the descriptor stays open, and is watched
    return Job(**message)


def grade_file(step: Step, job: Job, send: Send) -> None:
    """Run the learner's file, and grade what it makes."""
    try:
        module = load_file(step, job, send)
        if module:
            to_write = [*job.to_write, *find_missing(step, job, module, send)]
            Grader(step, job, module, to_write, send).grade()
    except Exception as error:  # a learner's code raises none this far up
        send(events.CheckFailed(fault_of_check(error)))


def main() -> None:
    """Do one job and end."""
    parent = Starter()

    def send(event: FromChild) -> None:
        parent.send(encode(event))

    def tell_of_compiling(what: str) -> None:
        send(events.CompilingBegan(what))

    def tell_of_its_end(what: str, seconds: float, error: BaseException | None) -> None:
        send(events.CompilingEnded(what, seconds))

    compiling.listeners.append(compiling.Listener(tell_of_compiling, tell_of_its_end))
    try:
        for name in sys.argv[1:]:
            prepare_ahead(Step(name))
        job = receive_job(parent)
        if job is None:
            return
        sys.argv[:] = [job.path]
        step = Step(job.step)
        import_max(step)
        import_claims(step)
    except Exception as error:
        from checker.packages import explain_import_error

        why = explain_import_error(error) if isinstance(error, ImportError) else fault_of_check(error)
        send(events.CheckFailed(why))
        return
    # Only of this thread, which runs the file: it may have others. LLVM takes SIGUSR1 and SIGUSR2.
    faulthandler.register(signal.SIGVTALRM, parent.descriptor, all_threads=False)
    send(events.Busy())
    grade_file(step, job, send)
    send(events.Ended())


if __name__ == "__main__":
    main()
