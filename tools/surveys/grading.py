"""The child of a survey: grades the solution and edited versions of it, in one session of one process.

``python -m tools.surveys.grading FD`` reads one job from standard input, as a check's child does. It reports which
subject is being graded, in case that ends the process or never ends, and writes the results into a file.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from checker.claims.observation import Request, observe
from checker.claims.subjects import load_source, load_step
from checker.claims.worker import all_pass, diagnosis_of, import_max
from checker.course.attempts import edited, load_attempts
from checker.course.languages import Unreadable
from checker.course.steps import Step
from checker.diagnosis.exceptions import error_in_words
from checker.diagnosis.mistakes import Outcome, read_answers, write_answers
from checker.events import DRAWN, FAIL, NUMBERS, Busy, Claimed, Compiling, Ended, FromChild, Started, encode
from checker.interrupts import end_with_the_parent
from tools.surveys.survey import Surveyed, SurveyJob


class Survey:
    """Grades every subject of a job, in an order drawn by lot."""

    def __init__(self, job: SurveyJob, pipe: int) -> None:
        self.job, self.pipe, self.step = job, pipe, Step(job.step)
        solution = (self.step.solution_file if job.compiled_kernels else self.step.model_file).read_text()
        self.sources = {name: edited(solution, edits) for name, edits in job.subjects.items()}
        self.names = list(self.sources)
        random.Random(job.seed).shuffle(self.names)
        self.paths = {name: f"subject_{number}" for number, name in enumerate(self.names)}
        self.modules: dict[str, ModuleType] = {}
        self.surveyed = {name: Surveyed(name) for name in self.names}

    def tell(self, event: FromChild) -> None:
        """Report all but what a claim says, which is among the results."""
        if not isinstance(event, Claimed):
            os.write(self.pipe, encode(event))

    def busy(self) -> None:
        """Report that there is no need to worry."""
        self.tell(Busy())

    def compiling(self, what: str, seconds: float | None) -> None:
        """Report what is being compiled."""
        self.tell(Compiling(what, seconds))

    def load(self) -> Mapping[str, ModuleType]:
        """Load all subjects."""
        for name in self.names:
            self.tell(Started("It is loaded.", name))
            try:
                module, path = f"graded.{self.step.name}_{self.paths[name]}", self.paths[name]
                if self.job.compiled_kernels:
                    self.modules[name] = load_step(self.step, module, self.sources[name], path)
                else:
                    self.modules[name] = load_source(module, self.sources[name], path)
            except Unreadable as error:
                self.surveyed[name].happened = f"it cannot be loaded: {error}"
            except BaseException as error:
                self.surveyed[name].happened = f"it cannot be loaded: {error_in_words(error)}"
        return self.modules

    def grade(self) -> list[Surveyed]:
        """Grade every subject, those with the right numbers on drawn configurations too; explain what fails."""
        graded = observe(Request(self.step, self.names, self.load, NUMBERS, tell=self.tell))
        answers = {name: graded[name] for name in load_attempts(self.step).mistakes if name in graded}
        if self.job.record:
            write_answers(self.step, answers)
        diagnosis = diagnosis_of(self.step, self.busy)
        if answers and not read_answers(self.step):
            diagnosis.answers = answers
        seeds = range(self.job.seed, self.job.seed + self.job.draws)
        right = {name: self.modules[name] for name in self.names if all_pass(graded.get(name, {}))}
        drawn = observe(Request(self.step, right, lambda: right, DRAWN, seeds, tell=self.tell))
        for name in self.names:
            outcomes = graded.get(name, {}) | drawn.get(name, {})
            self.keep(self.surveyed[name], outcomes)
            if any(outcome.verdict == FAIL for outcome in outcomes.values()):
                explaining = diagnosis_of(self.step, self.busy, seeds) if name in right else diagnosis
                for explained in explaining.explain(outcomes, self.sources[name], self.paths[name]):
                    self.surveyed[name].take(explained)
        return list(self.surveyed.values())

    def keep(self, surveyed: Surveyed, outcomes: Mapping[str, Outcome]) -> None:
        """Keep what the claims say of a subject."""
        for claim, outcome in outcomes.items():
            surveyed.verdicts[claim] = outcome.verdict
            surveyed.reasons[claim] = outcome.sentence


def main() -> None:
    """Carry out one job."""
    job = SurveyJob(**json.loads(sys.stdin.read()))
    survey = Survey(job, int(sys.argv[1]))
    end_with_the_parent(survey.pipe)
    runtime = import_max(survey.step, survey.compiling)
    survey.busy()
    results = survey.grade(), sorted(runtime.kernels.used) if runtime else []
    Path(job.results).write_bytes(pickle.dumps(results))
    survey.tell(Ended())


if __name__ == "__main__":
    main()
