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

from checker.claims.observation import Observation
from checker.claims.subjects import load_source, load_step
from checker.claims.worker import all_pass, diagnosis_of, import_max
from checker.course.attempts import edited, load_attempts
from checker.course.languages import Unreadable
from checker.course.steps import Step
from checker.diagnosis.exceptions import error_in_words
from checker.diagnosis.mistakes import read_answers, write_answers
from checker.events import DRAWN, FAIL, NUMBERS, Busy, Claimed, Compiling, Ended, FromChild, Started, encode
from checker.interrupts import end_with_the_parent
from tools.surveys.survey import Surveyed, SurveyJob


class Survey:
    """Grades every subject of a job, in an order drawn by lot."""

    def __init__(self, job: SurveyJob, pipe: int) -> None:
        self.job, self.pipe, self.step = job, pipe, Step(job.step)
        solution = (self.step.solution_file if job.compiled_kernels else self.step.model_file).read_text()
        self.names = list(job.subjects)
        random.Random(job.seed).shuffle(self.names)
        self.paths = {name: f"subject_{number}" for number, name in enumerate(self.names)}
        self.sources = {name: edited(solution, job.subjects[name]) for name in self.names}
        self.modules: dict[str, ModuleType] = {}
        self.surveyed = {name: Surveyed(name) for name in self.names}

    def tell(self, event: FromChild) -> None:
        """Report all but what a claim says, which is among the results."""
        if not isinstance(event, Claimed):
            os.write(self.pipe, encode(event))

    def load(self) -> Mapping[str, ModuleType]:
        """Load all subjects."""
        for name, path in self.paths.items():
            self.tell(Started("It is loaded.", name))
            try:
                module, source = f"graded.{self.step.name}_{path}", self.sources[name]
                if self.job.compiled_kernels:
                    self.modules[name] = load_step(self.step, module, source, path)
                else:
                    self.modules[name] = load_source(module, source, path)
            except BaseException as error:
                words = str(error) if isinstance(error, Unreadable) else error_in_words(error)
                self.surveyed[name].happened = f"it cannot be loaded: {words}"
        return self.modules

    def grade(self) -> list[Surveyed]:
        """Grade every subject, those with the right numbers on drawn configurations too; explain what fails."""
        graded = Observation(self.step, self.names, self.load, NUMBERS, tell=self.tell).run()
        answers = {name: graded[name] for name in load_attempts(self.step).mistakes if name in graded}
        if self.job.record:
            write_answers(self.step, answers)
        diagnosis = diagnosis_of(self.step, self.busy)
        if answers and not read_answers(self.step):
            diagnosis.answers = answers
        seeds = range(self.job.seed, self.job.seed + self.job.draws)
        right = {name: self.modules[name] for name in self.names if all_pass(graded.get(name, {}))}
        drawn = Observation(self.step, right, lambda: right, DRAWN, seeds, tell=self.tell).run()
        for name, surveyed in self.surveyed.items():
            outcomes = graded.get(name, {}) | drawn.get(name, {})
            surveyed.verdicts = {claim: outcome.verdict for claim, outcome in outcomes.items()}
            surveyed.reasons = {claim: outcome.sentence for claim, outcome in outcomes.items()}
            if FAIL in surveyed.verdicts.values():
                explaining = diagnosis_of(self.step, self.busy, seeds) if name in right else diagnosis
                for explained in explaining.explain(outcomes, self.sources[name], self.paths[name]):
                    surveyed.take(explained)
        return list(self.surveyed.values())

    def busy(self) -> None:
        """Report that there is no need to worry."""
        self.tell(Busy())


def main() -> None:
    """Carry out one job."""
    job = SurveyJob(**json.loads(sys.stdin.readline()))
    survey = Survey(job, int(sys.argv[1]))
    end_with_the_parent(sys.stdin.fileno())
    runtime = import_max(survey.step, lambda what, seconds: survey.tell(Compiling(what, seconds)))
    survey.busy()
    results = survey.grade(), sorted(runtime.kernels.used) if runtime else []
    Path(job.results).write_bytes(pickle.dumps(results))
    survey.tell(Ended())


if __name__ == "__main__":
    main()
