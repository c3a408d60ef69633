"""Grade many subjects of a step in one session: the solution, and edited versions of it."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Collection, Mapping
from types import CodeType, ModuleType

from checker.claims.observation import Draws, Tell, observe
from checker.claims.subjects import load_code, load_source, loader_of
from checker.course.attempts import edited, load_attempts
from checker.course.steps import Step
from checker.diagnosis.answers import read_answers, write_answers
from checker.diagnosis.exceptions import error_in_words
from checker.diagnosis.explanation import Diagnosis
from checker.diagnosis.mistakes import Outcomes
from checker.events import Claimed, Event, Job, Started, SubjectGraded


def answer_to(step: Step) -> ModuleType:
    """Return the solution of a step, of a kernel its model."""
    path = step.model_file
    return load_code(f"answer.{step.name}", compile(path.read_text(), str(path), "exec"))


def diagnosis_of(step: Step, busy: Callable[[], None], draws: Draws | None = None, *, show: bool = False) -> Diagnosis:
    """Return the Diagnosis that explains a no; ``busy`` is called after every claim that it tries.

    With ``draws``, it explains a no about another configuration. With ``show``, it keeps the compared numbers.
    """

    def try_(codes: Mapping[str, CodeType], claims: Mapping[str, Collection[str]] | None) -> Mapping[str, Outcomes]:
        modules = {}
        for number, (name, code) in enumerate(codes.items()):
            with contextlib.suppress(Exception, SystemExit):  # it has no outcomes then
                modules[name] = load_code(f"graded.tried_{number}", code)
        return observe(step, modules, claims, draws=draws, show=show, tell=lambda event: busy())

    return Diagnosis(step, try_, drawn=draws is not None)


def grade_subjects(step: Step, job: Job, tell: Tell, busy: Callable[[], None]) -> None:
    """Grade every subject of a job and explain every no; try those with the right numbers on drawn configurations.

    Their order is shuffled. Each is announced before it is loaded or tried, in case it ends the process or never ends.
    """
    solution = (step.solution_file if job.compiled_kernels else step.model_file).read_text()
    load_file = (
        loader_of(step) if job.compiled_kernels else lambda name, source, path, _: load_source(name, source, path)
    )
    sources = {name: edited(solution, edits) for name, edits in job.subjects.items()}
    subjects = list(sources)
    random.Random(job.seed).shuffle(subjects)
    paths = {name: f"subject_{number}" for number, name in enumerate(subjects)}
    loaded: dict[str, ModuleType] = {}
    happened: dict[str, str] = {}

    def take(event: Event) -> None:
        if isinstance(event, Started):
            tell(event)

    def load(test_modules: Collection[str]) -> Mapping[str, ModuleType]:
        for name in subjects:
            take(Started("It is loaded.", name))
            try:
                module = f"graded.{step.name}_{paths[name]}"
                loaded[name] = load_file(module, sources[name], paths[name], lambda what, seconds: busy())
            except BaseException as error:
                happened[name] = f"it cannot be loaded: {error_in_words(error)}"
        return loaded

    graded = observe(step, subjects, tell=take, load=load)
    answers = {name: graded[name] for name in load_attempts(step).mistakes if name in graded}
    if job.record:
        write_answers(step, answers)
    diagnosis = diagnosis_of(step, busy)
    if answers and not read_answers(step):
        diagnosis.answers = answers
    draws = Draws(answer_to(step), range(job.seed, job.seed + job.draws))
    right = {name: loaded[name] for name in subjects if all_yes(graded.get(name, {}))}
    drawn = observe(step, right, draws=draws, tell=take)
    for name in subjects:
        tell(SubjectGraded(name, happened.get(name, "")))
        outcomes = graded.get(name, {}) | drawn.get(name, {})
        for claim, outcome in outcomes.items():
            tell(Claimed(claim, outcome.about, "", outcome.verdict, outcome.sentence, outcome.where))
        if any(outcome.verdict == "no" for outcome in outcomes.values()):
            explaining = diagnosis_of(step, busy, draws) if name in right else diagnosis
            for explained in explaining.explain(outcomes, sources[name], paths[name]):
                tell(explained)


def all_yes(outcomes: Outcomes) -> bool:
    """Return whether there are claims, and all hold."""
    return {outcome.verdict for outcome in outcomes.values()} == {"yes"}
