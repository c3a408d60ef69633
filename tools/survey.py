"""Survey how good the checks are: check everything that they must get right, without looking at any learner's file.

The solution and every alternative must be accepted; every spoiled solution must be refused, with the
sentence of its own mistake: ``tests/dev/journeys/test_checks.py`` demands it.

``./run survey`` does that for every step, and records which of MAX's kernels it took and what every mistake answers.
:func:`follow` writes a step as people used to another library do, and then does what the check says until it passes.
"""

from __future__ import annotations

import ast
import json
import random
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from types import ModuleType
from typing import NamedTuple

from checker.child.loading import load_source, load_step
from checker.child.preparing import import_max
from checker.child.selection import ClaimsToRun
from checker.child.session import run_claims
from checker.child.stage_runner import ClaimTrials
from checker.compiling import Compiler, Listener, listeners
from checker.course.check_file import uses_max
from checker.course.languages import PYTHON
from checker.course.reading import Location, Unreadable
from checker.course.source import Source
from checker.course.steps import RECORDED_KERNELS as RECORD
from checker.course.steps import Step, all_steps, relative_path
from checker.diagnosis.diagnosing import Diagnostician
from checker.diagnosis.exceptions import error_in_words
from checker.diagnosis.mistakes import Edits, KnownMistakes, apply_edits, load_attempts, read_answers, write_answers
from checker.errors import UserError
from checker.outcomes import Outcomes, all_pass, failed_outcomes
from checker.protocol.events import ClaimBegan, Finding, FromChild
from checker.protocol.processes import Message, ParentProcess, StartedProcess, end_with_parent
from checker.stages import Mark, Stage

QUIET_SECONDS = 900.0  # for one claim, and for what MAX compiles before it
THE_SOLUTION = "the solution"
MOST_ROUNDS = 5  # in which a habit is followed
DRAWS = 6  # of each right answer when kernels are recorded: MAX compiles some for each of a few drawn numbers


@dataclass
class SubjectReport:
    """What the check said of one subject: the solution, an alternative or a spoiled solution."""

    name: str
    happened: str = ""  # what only a habit may do: fail to load
    marks: dict[str, Mark] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    locations: dict[str, Location | None] = field(default_factory=dict)
    mistake_names: list[str] = field(default_factory=list)  # the known mistakes that it makes, by the findings

    def take(self, finding: Finding) -> None:
        """Take in why a claim fails."""
        self.marks[finding.claim] = finding.mark
        self.reasons[finding.claim] = finding.sentence
        self.locations[finding.claim] = finding.why.location
        if finding.mistake and finding.mistake not in self.mistake_names:
            self.mistake_names.append(finding.mistake)

    @property
    def accepted(self) -> bool:
        """Whether every claim was made and held."""
        return bool(self.marks) and set(self.marks.values()) == {Mark.PASS}

    @property
    def refused(self) -> str:
        """Which claims fail, and why."""
        failing = [f"{claim}: {self.reasons[claim]}" for claim, mark in self.marks.items() if mark is not Mark.PASS]
        return "" if self.accepted else "; ".join(failing) or "no claim was made"

    def problem(self, mistakes: Collection[str]) -> str:
        """Return what the check got wrong about it, if it makes these mistakes, or nothing."""
        if self.happened:
            return self.happened
        if not mistakes:
            return "" if self.accepted else f"refused: {self.refused}"
        if self.accepted:
            return "a mistake was accepted"
        return "" if {*self.mistake_names} == {*mistakes} else f"named as {self.mistake_names or 'nothing'}"


class Survey(NamedTuple):
    """What was said of every subject, MAX's kernels that it took, and what MAX compiled on the way."""

    reports: list[SubjectReport]
    kernels: list[str]
    compiled: list[str]


def subjects_of(step: Step) -> dict[str, Edits]:
    """Return what a survey looks at by default: the solution, the alternatives, the mistakes.

    For a kernel they are its model and the model's mistakes, since a survey compiles nothing.
    """
    attempts = load_attempts(step)
    in_python = {**attempts.alternatives, **attempts.mistakes} if step.language is PYTHON else attempts.models
    return {THE_SOLUTION: {}, **in_python}


def survey(
    step: Step,
    subjects: Mapping[str, Edits],
    *,
    seed: int = 0,
    draws: int = 1,
    record: bool = False,
    compiled_kernels: bool = False,
) -> Survey:
    """Check edited versions of a step's solution, all in one process of their own.

    Args:
        step: whose solution.
        subjects: the edits of each, by its name.
        seed: of the order in which they are checked, and of the first configuration drawn.
        draws: how many configurations are drawn for right answers.
        record: keep what the known mistakes answer; they are all among the subjects.
        compiled_kernels: the edits are of a kernel itself, which is compiled, instead of its model in NumPy.

    Raises:
        UserError: the process ended, or was silent for too long; the message names the subject that it was grading.
    """
    work = Work(step.name, subjects, seed, draws, record, compiled_kernels)
    subject, process = "the import of MAX", StartedProcess([sys.executable, "-m", "tools.survey"], printed=None)
    process.send(asdict(work))
    try:
        while message := process.receive(QUIET_SECONDS):
            if "at" not in message:
                reports = [report_from(report) for report in message["reports"]]
                return Survey(reports, message["kernels"], message["compiled"])
            subject = message["at"]
        how = "says nothing more" if process.is_alive else "ended"
        raise UserError(f"the survey of {step.name} {how} at {subject}")
    finally:
        process.stop()


def report_from(message: Message) -> SubjectReport:
    """Return what was said of a subject, as it came from the other process."""
    said = message.pop("locations").items()
    locations = {claim: Location(**location) if location else None for claim, location in said}
    marks = {claim: Mark(mark) for claim, mark in message.pop("marks").items()}
    return SubjectReport(**message, marks=marks, locations=locations)


@dataclass(frozen=True)
class Work:
    """What a survey is told to do; :func:`survey` says what each means."""

    step: str
    subjects: Mapping[str, Edits]
    seed: int
    draws: int
    record: bool
    compiled_kernels: bool


def main() -> None:
    """Do one survey, and end with who asked for it."""
    parent = ParentProcess()
    end_with_parent(parent.descriptor)
    for message in parent.messages():
        done = check_subjects(Work(**message), lambda name: parent.send({"at": name}))
        reports = [asdict(report) for report in done.reports]
        parent.send({"reports": reports, "kernels": done.kernels, "compiled": done.compiled})


@dataclass
class Subject:
    """What is checked: a source, the name by which errors call its file, and what was said of it so far."""

    source: Source
    path: str
    report: SubjectReport


def check_subjects(work: Work, begin: Callable[[str], None]) -> Survey:
    """Check every subject, in an order drawn by lot; ``begin`` is called with the name of each that is begun.

    Those with the right numbers are checked on drawn configurations too, and what fails is diagnosed.
    """
    step, seeds, compiled_by_max = Step(work.step), range(work.seed, work.seed + work.draws), list[str]()

    def note_beginning(name: str, compiler: Compiler) -> None:
        if compiler is Compiler.MAX:
            compiled_by_max.append(name)

    listeners.append(Listener(began=note_beginning, ended=lambda name, seconds, error: None))
    used_kernels = import_and_note_kernels(step)
    subjects = drawn_by_lot(step, work)
    modules = load_subjects(step, subjects, begin, compiled_kernels=work.compiled_kernels)

    def send(event: FromChild) -> None:
        if isinstance(event, ClaimBegan):
            begin(event.subject)

    checked = run_claims(ClaimsToRun(step, modules, Stage.NUMBERS), send)
    right = {name: module for name, module in modules.items() if all_pass(checked[name])}
    diagnostician = diagnostician_by(step, checked, record=work.record)
    drawn = run_claims(ClaimsToRun(step, right, Stage.DRAWN, seeds), send)
    for name, subject in subjects.items():
        outcomes = checked.get(name, {}) | drawn.get(name, {})
        subject.report.marks = {claim: outcome.mark for claim, outcome in outcomes.items()}
        subject.report.reasons = {claim: outcome.reason for claim, outcome in outcomes.items()}
        if failed_outcomes(outcomes):
            begin(name)
            of_subject = diagnostician
            if name in right:
                of_subject = Diagnostician(step, ClaimTrials(step, Stage.DRAWN, seeds), KnownMistakes.unanswered(step))
            for finding in of_subject.diagnose(outcomes, subject.source, subject.path).findings:
                subject.report.take(finding)
    return Survey([subject.report for subject in subjects.values()], sorted(used_kernels), compiled_by_max)


def import_and_note_kernels(step: Step) -> set[str]:
    """Import MAX if the step needs it; return a set to which the kernels of MAX that are used from now on are added."""
    import_max(step)
    if not uses_max(step):
        return set()
    from checker.max_adapter.kernel_store import note_used

    return note_used()


def drawn_by_lot(step: Step, work: Work) -> dict[str, Subject]:
    """Return the subjects by name, in the order in which they are checked."""
    solution = (step.solution_file if work.compiled_kernels else step.model_file).read_text()
    names = random.Random(work.seed).sample(list(work.subjects), len(work.subjects))
    return {
        name: Subject(Source(apply_edits(solution, work.subjects[name])), f"subject_{number}", SubjectReport(name))
        for number, name in enumerate(names)
    }


def load_subjects(
    step: Step, subjects: Mapping[str, Subject], begin: Callable[[str], None], *, compiled_kernels: bool
) -> dict[str, ModuleType]:
    """Return the modules of the subjects that can be loaded; of the others, note what happened."""
    modules = dict[str, ModuleType]()
    for name, subject in subjects.items():
        begin(name)
        module = f"graded.{step.name}_{subject.path}"
        try:
            if compiled_kernels:
                modules[name] = load_step(step, module, subject.source, subject.path)
            else:
                modules[name] = load_source(module, subject.source, subject.path)
        except Unreadable as error:
            subject.report.happened = f"it cannot be read: {error}"
            subject.report.locations["it is read"] = error.location
        except BaseException as error:
            subject.report.happened = f"it cannot be loaded: {error_in_words(error, subject.path)}"
    return modules


def diagnostician_by(step: Step, checked: Mapping[str, Outcomes], *, record: bool) -> Diagnostician:
    """Return who names the known mistakes behind failures: by what they answered now, if nothing is recorded."""
    answers = {name: checked[name] for name in load_attempts(step).mistakes if name in checked}
    if record:
        write_answers(step, answers)
    return Diagnostician(step, ClaimTrials(step), KnownMistakes(step, read_answers(step) or answers))


def record_answers(steps: Iterable[Step]) -> int:
    """Survey steps; record kernels and answers. Return the exit status, 1 if a check got something wrong.

    What is recorded of other steps, of habits and of the book, stays, unless they are gone.
    """
    known = {"book", "habits", *(step.name for step in all_steps())}
    used = {name: kernels for name, kernels in json.loads(RECORD.read_text()).items() if name in known}
    wrong = 0
    for step in steps:
        reports, used[step.name], _ = survey(step, subjects_of(step), draws=DRAWS, record=True)
        for report in reports:
            if problem := report.problem({report.name} & load_attempts(step).mistakes.keys()):
                wrong += 1
                print(f"{step.name}: {report.name} was {problem}", file=sys.stderr)
        print(f"{relative_path(step.check_file)}: {len(used[step.name])} kernels", flush=True)
    RECORD.write_text(json.dumps({name: used[name] for name in sorted(used)}, indent=1) + "\n")
    return 1 if wrong else 0


# ---------------------------------------------------------------- habits


def follow(step: Step, names: Collection[str]) -> tuple[dict[str, str], set[str]]:
    """Write a step with each of the habits ``names``, and then what the check says to write instead.

    Returns:
        By habit, why that did not lead to a pass, or nothing; and what MAX compiled on the way.
    """
    solution, habits = step.read_solution().text, load_attempts(step).habits
    sources, compiled = {name: apply_edits(solution, habits[name]) for name in names}, set[str]()
    problems = dict.fromkeys(names, "it was accepted as it is")
    for _ in range(MOST_ROUNDS):
        subjects = {name: {solution: source} for name, source in sources.items()}
        if not subjects:
            break
        reports, _, newly_compiled = survey(step, subjects, compiled_kernels=step.language is not PYTHON)
        compiled |= {*newly_compiled}
        for report in reports:
            name, refused = report.name, report.happened or report.refused
            locations = filter(None, report.locations.values())
            location = next((each for each in locations if each.instead), None)
            if refused and location:
                line, instead = location.instead_line, location.instead
                sources[name] = _with_statement(sources[name], line, instead, step.language is PYTHON)
                problems[name] = ""
            else:
                del sources[name]
                problems[name] = f"the check gave no line to write: {refused}" if refused else problems[name]
    return problems | dict.fromkeys(sources, "it is still not accepted after the last line allowed"), compiled


def _with_statement(source: str, line: int, statement: str, in_python: bool) -> str:
    """Return a source with the innermost statement at a line replaced; for a loop or the like, only its first line."""
    lines = source.splitlines()
    first = end = line
    if in_python:
        statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
        holding = [node for node in statements if node.lineno <= line <= (node.end_lineno or 0)]
        node = max(holding, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
        body = getattr(node, "body", None)
        first, end = node.lineno, body[0].lineno - 1 if isinstance(body, list) else node.end_lineno or line
    lines[first - 1 : end] = [lines[first - 1][: -len(lines[first - 1].lstrip())] + statement]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
