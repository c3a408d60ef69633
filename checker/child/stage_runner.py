"""Run the claims on the module of a learner's file, stage by stage, and explain those that fail.

A trick, ``silence``: from a diagnosis on, which is the last that it does, the process prints nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

from checker.child.loading import load_code
from checker.child.selection import ClaimsToRun
from checker.child.session import run_claims, send_to_nobody
from checker.course.steps import Step
from checker.device import DeviceKind
from checker.outcomes import Outcomes, all_pass, failed_outcomes
from checker.protocol import events
from checker.protocol.events import FromChild, Send
from checker.protocol.job import Job
from checker.stages import Mark, Stage

if TYPE_CHECKING:  # a pass needs no explanation
    from checker.diagnosis.diagnosing import Diagnosis
    from checker.diagnosis.mistakes import KnownMistakes


SUBJECT = "subject"  # the name of the learner's module among the subjects


class StageRunner:
    """Runs the claims on the learner's module, stage after stage.

    Args:
        step: the step whose claims are run.
        job: the work.
        module: the module that running the file has made.
        to_write: the labels of the functions that are still to write, or that the module lacks.
        send: called with every event.
    """

    def __init__(self, step: Step, job: Job, module: ModuleType, to_write: Collection[str], send: Send) -> None:
        self.step, self.job, self.module, self.to_write, self.send = step, job, module, to_write, send
        self.seeds = [job.seed]  # of the configurations that are drawn

    def run(self) -> None:
        """Report the outcome of every claim, and then why some fail or, if none does, those of the compiled claims."""
        stage = Stage.NUMBERS
        outcomes = self.run_stage(stage)
        if all_pass(outcomes):
            stage = Stage.DRAWN
            outcomes = {**outcomes, **self.run_stage(stage)}
        if failed_outcomes(outcomes):
            self.diagnose_failures(outcomes, stage)
        elif self.job.tries_compiled_claims and all_pass(outcomes):
            self.run_compiled_claims()

    def run_compiled_claims(self) -> None:
        """Report the compiled claims: traced up to where MAX would compile, then run to their end, then on a GPU."""
        device = self.job.options.device or DeviceKind.CPU
        outcomes = self.run_stage(Stage.TRACING, device=device)
        traced_claims = [claim for claim, outcome in outcomes.items() if outcome.mark is Mark.TRACED]
        if traced_claims and not failed_outcomes(outcomes):  # else the failure is known without the compiler
            outcomes = {**outcomes, **self.run_stage(Stage.COMPILED, traced_claims, device=device)}
        self.send(events.CompiledTried())
        if all_pass(outcomes) and not self.job.options.device:
            self.run_claims_on_gpu()

    def run_claims_on_gpu(self) -> None:
        """Report the compiled claims on a GPU, if this machine has one."""
        from checker.max_adapter.runtime import devices

        if DeviceKind.GPU in devices():
            self.run_stage(Stage.ON_GPU, device=DeviceKind.GPU)

    def run_stage(
        self, stage: Stage, names: Collection[str] | None = None, device: DeviceKind | None = None
    ) -> Outcomes:
        """Report and return the outcomes of the claims of a stage that are named, or of all."""
        to_run = ClaimsToRun(
            self.step,
            {SUBJECT: self.module},
            stage,
            self.seeds,
            only=None if names is None else {SUBJECT: names},
            device=device,
            notes_inputs=bool(self.job.options.show),
            to_write=self.to_write,
        )
        outcomes = run_claims(to_run, self.send)
        self.send(events.StageEnded(stage))
        return outcomes[SUBJECT]

    def diagnose_failures(self, outcomes: Outcomes, stage: Stage) -> None:
        """Report why claims fail, and the numbers that were asked for.

        Args:
            outcomes: what the claims said.
            stage: at which they failed.
        """
        from checker.diagnosis.diagnosing import Diagnostician

        drop_output()
        trials = ClaimTrials(self.step, stage, self.seeds, self.send_busy, notes_inputs=bool(self.job.options.show))
        diagnostician = Diagnostician(self.step, trials, self.known_mistakes(stage))
        diagnosis = diagnostician.diagnose(outcomes, self.job.source, self.job.path, self.to_write)
        for finding in diagnosis.findings:
            self.send(finding)
        if self.job.options.show:
            self.report_numbers(diagnosis)

    def known_mistakes(self, stage: Stage) -> KnownMistakes:
        """Return the known mistakes: in a hunt none, and for a configuration that is drawn without their outcomes."""
        from checker.diagnosis.mistakes import KnownMistakes

        if self.job.options.hunt:
            return KnownMistakes.unnamed(self.step)
        return KnownMistakes.unanswered(self.step) if stage is Stage.DRAWN else KnownMistakes.recorded(self.step)

    def send_busy(self, event: FromChild) -> None:
        """Report, in place of an event, that this process is at work: the claims of a diagnosis are no news."""
        self.send(events.Busy())

    def report_numbers(self, diagnosis: Diagnosis) -> None:
        """Report the numbers of the function that ``--show`` asks for, beside the right ones."""
        from checker.numeric.showing import lines_of

        label = self.job.options.show
        blames = [blame for blame in diagnosis.blames if blame.label == label]
        outcomes = [outcome for blame in blames for outcome in blame.outcomes.values()]
        comparisons = [outcome.comparison for outcome in outcomes if outcome.comparison]
        self.send(events.NumbersCompared(label, lines_of(comparisons[0]) if comparisons else ()))


@dataclass(frozen=True)
class ClaimTrials:
    """Tries code that was put together, for a diagnosis.

    Attributes:
        step: whose claims.
        stage: at which claims failed, so that they are tried again.
        seeds: of the configurations, if they failed on some that were drawn.
        send: is given every event of the claims that are tried.
        notes_inputs: whether every trial notes what the functions were given, beside what is compared.
    """

    step: Step
    stage: Stage = Stage.NUMBERS
    seeds: Sequence[int] = ()
    send: Send = send_to_nobody
    notes_inputs: bool = False

    def run(
        self, codes: Mapping[str, CodeType], claims: Mapping[str, Collection[str]], *, notes_inputs: bool = False
    ) -> Mapping[str, Outcomes]:
        """Run claims on each code; return the outcomes by the same names, without codes that cannot be loaded."""
        subjects = dict[str, ModuleType]()
        for number, (name, code) in enumerate(codes.items()):
            module = try_to_load(f"checked.tried_{number}", code)
            if module:
                subjects[name] = module
        notes_inputs = notes_inputs or self.notes_inputs
        to_run = ClaimsToRun(self.step, subjects, self.stage, self.seeds, claims, notes_inputs=notes_inputs)
        return run_claims(to_run, self.send)


def try_to_load(name: str, code: CodeType) -> ModuleType | None:
    """Return the module that code makes; None if running it raises an error."""
    with contextlib.suppress(Exception, SystemExit):
        return load_code(name, code)
    return None


def drop_output() -> None:
    """Drop all that is printed from now on: a diagnosis runs the learner's file again, whose output was shown."""
    sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
