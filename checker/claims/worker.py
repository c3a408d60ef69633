"""The child process: runs the claims of a step on a subject, and tells the parent what they say.

A learner's file may hang, print, exit or kill its process; all of that happens here. What the
parent believes are the events written to one pipe, each with a token that only this module holds.

``python -m checker.claims.worker FD [STEP]`` reads the token and then one job, as JSON, from standard input. With a
step, it first imports what that step's check needs, so that a job that comes later need not wait for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import json
import logging
import os
import select
import signal
import sys
from collections.abc import Mapping
from types import FrameType, ModuleType
from typing import Any

from checker.claims.observation import Tell, line_in_words, observe, place_in
from checker.claims.subjects import hide_answers, load_source
from checker.course.attempts import Attempts, Edits, edited, load_attempts
from checker.course.steps import Step, uses_max
from checker.diagnosis.exceptions import error_in_words
from checker.diagnosis.mistakes import Outcome, Outcomes, name_mistakes

PARENT_DEATH_SIGNAL = 1  # of prctl


def channel(descriptor: int, token: str) -> Tell:
    """A function that writes one event to the parent."""

    def tell(event: str, **details: Any) -> None:
        line = json.dumps({"token": token, "event": event, **details}) + "\n"
        os.write(descriptor, line.encode())

    return tell


def tell_where_when_asked(path: str, tell: Tell) -> None:
    """On SIGVTALRM, tell which line of the file ``path`` is running: where an endless loop is.

    LLVM, inside MAX, takes SIGUSR1 and SIGUSR2 for itself.
    """

    def answer(signum: int, frame: FrameType | None) -> None:
        while frame and frame.f_code.co_filename != path:
            frame = frame.f_back
        tell("hanging", where=line_in_words(path, frame.f_lineno) if frame else "")

    signal.signal(signal.SIGVTALRM, answer)


class Grading:
    """Grades subjects of one step, one after the other; spoiled solutions run at most once a claim."""

    def __init__(self, step: Step, solution: str, tell: Tell, *, naming: bool) -> None:
        self.step = step
        self.naming = naming
        self.solution = solution
        self.tell = tell
        self.spoiled: dict[str, ModuleType] = {}
        self.seen: dict[str, dict[str, Outcome]] = {}

    @functools.cached_property
    def attempts(self) -> Attempts:
        """The mistakes and alternatives of the step, read when one is asked for: a right answer needs none."""
        return load_attempts(self.step)

    def grade(self, subject: ModuleType, compile_: bool, device: str | None) -> None:
        """Tell what every claim says; on a no, which mistake it is; on yes throughout, what compiling gives."""
        outcomes = observe(self.step, {"subject": subject}, tell=self.tell).outcomes["subject"]
        self.tell("numbers")
        verdicts = {outcome.verdict for outcome in outcomes.values()}
        if "no" in verdicts and self.naming:
            for claim, sentence in self.mistakes_behind(outcomes).items():
                self.tell("mistake", claim=claim, sentence=sentence)
        elif compile_ and verdicts == {"yes"}:
            observe(self.step, {"subject": subject}, compiled=True, device=device, tell=self.tell)

    def still_here(self, *_: object, **__: object) -> None:
        """Tell of progress: to name a mistake may take longer than the parent bears silence."""
        self.tell("tick")

    def mistakes_behind(self, said: Outcomes) -> dict[str, str]:
        """The claims that give a mistake away, and its sentence."""
        mistakes = self.attempts.mistakes

        def observe_spoiled(names: list[str], claims: list[str]) -> dict[str, dict[str, Outcome]]:
            for name in names:
                if name not in self.spoiled:
                    number = f"spoiled_{len(self.spoiled)}"
                    self.spoiled[name] = load_source(f"graded.{number}", edited(self.solution, mistakes[name]), number)
                    self.seen[name] = {}
            missing = {name: self.spoiled[name] for name in names if not self.seen[name].keys() >= set(claims)}
            if missing:
                for name, outcomes in observe(self.step, missing, claims, tell=self.still_here).outcomes.items():
                    self.seen[name] |= outcomes
            return {name: self.seen[name] for name in names}

        return name_mistakes(said, list(mistakes), observe_spoiled)


def load_learner(job: Mapping[str, Any], step: Step, tell: Tell) -> ModuleType | None:
    """Run the learner's file; when that fails, tell why."""
    try:
        return load_source(f"steps.{step.name}", job["source"], job["path"])
    except BaseException as error:
        _, line = place_in(error, job["path"])
        tell("unloadable", help=error_in_words(error), where=line_in_words(job["path"], line))
        return None


def import_for(step: Step, tell: Tell) -> ModuleType | None:
    """MAX prepared for a check, if the step needs it; what it compiles is told."""
    if not uses_max(step):
        return None
    from checker.max_adapter import runtime

    runtime.prepare()

    runtime.listeners[:] = [lambda what, seconds: tell("compiling", what=what, seconds=seconds)]
    return runtime


def prepare(step: Step, tell: Tell) -> None:
    """Do beforehand what a check of ``step`` does before it looks at the learner's file.

    pytest collects the check file, of which it runs nothing; MAX runs one operation, which starts its threads.
    """
    runtime = import_for(step, tell)
    observe(step, {"nothing": ModuleType("nothing")}, [])
    if runtime:
        runtime.start_threads()
    gc.freeze()  # what is imported by now is not looked through again


def rest() -> None:
    """Stop until the parent says to go on, which it does with a job.

    Once MAX has run an operation, one of its threads looks for work some thousand times a second, which takes
    7 % of a core for as long as the process waits.
    """
    with contextlib.suppress(AttributeError):  # where it is possible, on Linux, do not outlive a parent that is killed
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if not select.select([sys.stdin], [], [], 0)[0]:
        os.kill(os.getpid(), signal.SIGSTOP)


def main() -> None:
    """Run one job and end."""
    logging.getLogger("max").setLevel(logging.ERROR)
    descriptor, *ahead = sys.argv[1:]
    tell = channel(int(descriptor), sys.stdin.readline().strip())
    for name in ahead:
        prepare(Step(name), tell)
        rest()
    text = sys.stdin.read()
    sys.stdin.close()
    if not text:
        return  # started ahead, and not needed
    job = json.loads(text)
    sys.argv[:] = [job["path"]]
    step = Step(job["step"])
    solution = step.solution_file.read_text()
    runtime = import_for(step, tell)
    tell_where_when_asked(job["path"], tell)
    grading = Grading(step, solution, tell, naming=job["naming"])
    tell("ready")
    if job["kind"] == "survey":
        survey(grading, job)
        if runtime:
            tell("kernels", used=sorted(runtime.kernels.used))
    else:
        if job["kind"] == "learner":
            hide_answers(step.solution_file)
        subject = load_learner(job, step, tell)
        if subject is not None:
            grading.grade(subject, job["compile"], job["device"])
    tell("end")


def survey(grading: Grading, job: Mapping[str, Any]) -> None:
    """Grade the solution, every alternative and every spoiled solution of a step."""
    name = f"graded.{grading.step.name}"
    path = job["path"]
    subjects: dict[str, tuple[str, Edits]] = {"the solution": ("solution", {})}
    subjects |= {name: ("alternative", edits) for name, edits in grading.attempts.alternatives.items()}
    subjects |= {name: ("mistake", edits) for name, edits in grading.attempts.mistakes.items()}
    for subject, (kind, edits) in subjects.items():
        grading.tell("subject", name=subject, kind=kind)
        module = load_source(name, edited(grading.solution, edits), path)
        grading.grade(module, job["compile"] and kind == "solution", job["device"])


if __name__ == "__main__":
    main()
