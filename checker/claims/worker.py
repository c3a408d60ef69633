"""The child process: runs the claims of a step on a subject, and tells the parent what they say.

A learner's file may hang, print, exit or kill its process; all of that happens here. Events go to the parent
through one pipe (``checker.events``).

``python -m checker.claims.worker FD [STEP]`` reads one job from standard input. With a step, it first imports what that
step's check needs, so that a later job need not wait for it.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from types import FrameType, ModuleType

from checker.claims import own_answer
from checker.claims.observation import Draws, Tell, observe
from checker.claims.plugin import read_reference
from checker.claims.subjects import loader_of
from checker.claims.surveying import all_yes, answer_to, diagnosis_of, grade_subjects
from checker.course.steps import Step, uses_max
from checker.diagnosis.exceptions import error_in_words
from checker.diagnosis.locating import line_in_words, where_in_words
from checker.diagnosis.mistakes import Outcomes
from checker.events import (
    Busy,
    Compiling,
    Decided,
    Ended,
    Event,
    Hanging,
    Job,
    KernelsUsed,
    MaxUnusable,
    Notice,
    Shown,
    Unloadable,
    encode,
)
from checker.mojo.messages import KernelRefused
from checker.numeric.showing import shown

Compiles = Callable[[str, float | None], None]  # what is compiled, and None or the seconds that it took

COMPILED_STAGES = ("traced", "compiled")


def channel(descriptor: int) -> Tell:
    """Return a function that writes one event to the parent."""

    def tell(event: Event) -> None:
        os.write(descriptor, encode(event))

    return tell


def tell_where_when_asked(path: str, tell: Tell) -> None:
    """On SIGVTALRM, report which line of the file ``path`` is running, such as the line of an endless loop.

    LLVM, inside MAX, takes SIGUSR1 and SIGUSR2 for itself.
    """

    def answer(signum: int, frame: FrameType | None) -> None:
        while frame and frame.f_code.co_filename != path:
            frame = frame.f_back
        tell(Hanging(line_in_words(path, frame.f_lineno) if frame else ""))

    signal.signal(signal.SIGVTALRM, answer)


class Graded:
    """The learner's module, graded: numbers, another configuration, as MAX traces it, compiled."""

    def __init__(self, step: Step, job: Job, tell: Tell, compiling: Compiles) -> None:
        self.step, self.job, self.tell, self.compiling = step, job, tell, compiling
        self.load_file = loader_of(step)
        self.module: dict[str, ModuleType] = {}
        if step.reference_file.is_file():
            read_reference(step.reference_file)  # while the learner's file runs, nothing may

    def numbers(self) -> Outcomes:
        """Try the claims about numbers."""
        return self._run("numbers", None)

    def drawn(self, draws: Draws) -> Outcomes:
        """Try the claims about another configuration, drawn anew."""
        return self._run("drawn", None, draws)

    def compiled(self) -> None:
        """Try the compiled claims up to where MAX would begin to compile; then compile those that got there."""
        traced = [claim for claim, outcome in self._run("traced", None).items() if outcome.verdict == "traced"]
        if traced:
            self._run("compiled", traced)

    def _run(self, stage: str, claims: Collection[str] | None, draws: Draws | None = None) -> Outcomes:
        """Report and return the outcome of every claim, or none if the file cannot be loaded."""

        def load(test_modules: Collection[str]) -> Mapping[str, ModuleType]:
            closed.enter_context(own_answer.kept_closed(self.step))
            if not self.module:
                self.load()
            return self.module

        with contextlib.ExitStack() as closed:
            traced = closed.enter_context(tracing(self.step)) if stage == "traced" else None
            found = observe(
                self.step,
                ["subject"],
                claims,
                compiled=stage in COMPILED_STAGES,
                draws=draws,
                traced=traced,
                device=self.job.device if stage in COMPILED_STAGES else None,
                show=bool(self.job.show),
                gone=self.job.gone,
                tell=self.tell,
                load=load,
            )
        outcomes = found.get("subject", {})
        if self.module:
            self.tell(Decided(stage, {claim: outcome.verdict for claim, outcome in outcomes.items()}))
        return outcomes

    def load(self) -> None:
        """Run the learner's file; if that fails, report why."""
        try:
            name = f"steps.{self.step.name}"
            self.module["subject"] = self.load_file(name, self.job.source, self.job.path, self.compiling)
        except KernelRefused as error:
            self.tell(Unloadable(error.sentence, error.where))
        except BaseException as error:
            self.tell(Unloadable(error_in_words(error), where_in_words(error, self.job.path)))


@contextlib.contextmanager
def tracing(step: Step) -> Iterator[type[Exception] | None]:
    """While this is open, end a compiled claim where MAX would begin to compile; yield the exception that ends it."""
    if not uses_max(step):
        yield None
        return
    from checker.max_adapter import graphs

    with graphs.only_traced():
        yield graphs.StagedError


def grade(step: Step, job: Job, tell: Tell, busy: Callable[[], None], compiling: Compiles) -> None:
    """Report what every claim says of the learner's file, then why it says no, or the result of compiling."""
    graded, draws = Graded(step, job, tell, compiling), None
    outcomes = graded.numbers()
    if all_yes(outcomes):
        draws = Draws(answer_to(step), [job.seed])  # only now is the solution read
        outcomes = {**outcomes, **graded.drawn(draws)}
    if any(outcome.verdict == "no" for outcome in outcomes.values()) and job.naming:
        silence()
        diagnosis = diagnosis_of(step, busy, draws, show=bool(job.show))
        for explained in diagnosis.explain(outcomes, job.source, job.path):
            tell(explained)
        if job.show:
            seen = [one.compared for one in diagnosis.blamed.get(job.show, {}).values() if one.compared]
            tell(Shown(job.show, tuple(shown(seen[0])) if seen else ()))
    elif job.compile and all_yes(outcomes):
        graded.compiled()


def silence() -> None:
    """Drop what is printed from now on: an explanation runs the learner's file again, whose output has been seen."""
    sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def import_max(step: Step, compiling: Compiles) -> ModuleType | None:
    """Prepare MAX for a check, if the step needs it, and have it report what it compiles; return the adapter."""
    if not uses_max(step):
        return None
    gc.disable()  # it would scan all of MAX's objects several times as they are made
    from checker.max_adapter import runtime

    runtime.prepare()
    import checker.claims.modules  # noqa: F401 - the rest of MAX, which every such check file imports

    gc.freeze()  # what has been imported is not scanned again
    gc.enable()
    runtime.listeners[:] = [compiling]
    return runtime


def prepare_ahead(step: Step, compiling: Compiles) -> None:
    """Do beforehand what a check of ``step`` does before it looks at the learner's file.

    pytest collects the check file but runs none of it; MAX runs one operation, which starts its threads.
    """
    runtime = import_max(step, compiling)
    observe(step, [], [])
    if runtime:
        runtime.start_threads()
    gc.freeze()


def rest() -> None:
    """Stop this process until the parent wakes it with a job.

    Once MAX has run an operation, one of its threads looks for work again and again. Where the hook "sleep" of
    ``max_adapter/runtime.py`` cannot make it wait (on macOS), that takes a tenth of a core for as long as the process
    waits.
    """
    if not select.select([sys.stdin], [], [], 0)[0]:
        os.kill(os.getpid(), signal.SIGSTOP)


def main() -> None:
    """Run one job and end."""
    pipe, *ahead = sys.argv[1:]
    tell = channel(int(pipe))

    def compiling(what: str, seconds: float | None) -> None:
        tell(Compiling(what, seconds))

    try:
        for name in ahead:
            prepare_ahead(Step(name), compiling)
            rest()
        text = sys.stdin.read()
        sys.stdin.close()
        if not text:
            return  # started ahead, and not needed
        job = Job(**json.loads(text))
        sys.argv[:] = [job.path]
        step = Step(job.step)
        runtime = import_max(step, compiling)
    except ImportError as error:
        from checker.course.installed import in_words

        tell(MaxUnusable(in_words(error)))
        tell(Ended())
        return
    tell_where_when_asked(job.path, tell)
    tell(Busy())
    if job.kind == "survey":
        grade_subjects(step, job, tell, lambda: tell(Busy()))
        if runtime:
            tell(KernelsUsed(sorted(runtime.kernels.used)))
    else:
        grade(step, job, tell, lambda: tell(Busy()), compiling)
    for sentence in runtime.notices if runtime else []:
        tell(Notice(sentence))
    tell(Ended())


if __name__ == "__main__":
    main()
