"""The child process: runs the claims of a step on a subject, and tells the parent what they say.

A learner's file may hang, print, exit or kill its process; all of that happens here. What the
parent believes are the events written to one pipe, each with a token that only this module holds.

``python -m checker.worker FD`` reads one job as JSON from standard input.
"""

from __future__ import annotations

import ast
import json
import linecache
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

from checker.claims import Refusal
from checker.naming import Outcome, Outcomes, name_mistakes
from checker.paths import Step
from checker.plugin import SUBJECT
from checker.subjects import AnswerWasRead, Edits, edited, hide_answers, load_source

Tell = Callable[..., None]

UNUSED_PLUGINS = ("terminal", "cacheprovider", "logging", "faulthandler", "unraisableexception", "threadexception")


def channel(descriptor: int, token: str) -> Tell:
    """A function that writes one event to the parent."""

    def tell(event: str, **details: Any) -> None:
        line = json.dumps({"token": token, "event": event, **details}) + "\n"
        os.write(descriptor, line.encode())

    return tell


class Observer:
    """A pytest plugin: puts the subjects in place of ``step`` and keeps what each claim says of them."""

    def __init__(self, subjects: Mapping[str, ModuleType], claims: list[str] | None, compiled: bool, tell: Tell | None) -> None:
        self.subjects = subjects
        self.claims = claims
        self.compiled = compiled
        self.tell = tell
        self.outcomes: dict[str, dict[str, Outcome]] = {name: {} for name in subjects}
        self.mistakes: dict[str, Edits] = {}
        self.alternatives: dict[str, Edits] = {}

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        self.mistakes = getattr(metafunc.module, "MISTAKES", {})
        self.alternatives = getattr(metafunc.module, "ALTERNATIVES", {})
        if "step" in metafunc.fixturenames:
            metafunc.parametrize("step", list(self.subjects.values()), ids=list(self.subjects), scope="module")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        def wanted(item: pytest.Item) -> bool:
            compiled = item.get_closest_marker("compiled") is not None
            return compiled == self.compiled and (self.claims is None or claim_of(item) in self.claims)

        items[:] = [item for item in items if wanted(item)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if self.tell:
            self.tell("start", sentence=sentence_of(item))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport:
        if call.when == "call" or (call.when == "setup" and call.excinfo is not None):
            subject = item.callspec.params["step"]  # type: ignore[attr-defined]
            name = next(name for name, module in self.subjects.items() if module is subject)
            outcome = outcome_of(item, call.excinfo, subject.__file__)
            self.outcomes[name][claim_of(item)] = outcome
            if self.tell:
                details = {"verdict": outcome.verdict, "help": outcome.sentence, "where": outcome.where}
                self.tell("claim", claim=claim_of(item), about=outcome.about, sentence=sentence_of(item), **details)
        # pytest's own report would format the traceback, which takes longer than the claim.
        passed = "passed" if call.excinfo is None else "failed"
        return pytest.TestReport(item.nodeid, item.location, {}, passed, None, call.when)


def claim_of(item: pytest.Item) -> str:
    """The name of a claim: its function's, and its parameters' other than the subject."""
    parameters = getattr(item, "callspec", None)
    values = [str(value) for name, value in parameters.params.items() if name != "step"] if parameters else []
    return item.originalname + (f"[{'-'.join(values)}]" if values else "")  # type: ignore[attr-defined]


def sentence_of(item: pytest.Item) -> str:
    """What a claim claims: the first line of its docstring."""
    return (item.function.__doc__ or item.name).strip().splitlines()[0]  # type: ignore[attr-defined]


def outcome_of(item: pytest.Item, failure: pytest.ExceptionInfo[BaseException] | None, path: str) -> Outcome:
    """What a claim that has just run says; ``path`` is the graded file, whose lines are shown."""
    about = getattr(item.function, "about", "")  # type: ignore[attr-defined]
    if failure is None:
        return Outcome("yes", about=about)
    error = failure.value
    if isinstance(error, Refusal):
        return Outcome("no", error.sentence, observed=error.observed, about=about)
    function, line = place_in(error, path)
    if isinstance(error, NotImplementedError) and function:
        return Outcome("waits", f"waits until {function} is written", about=about)
    return Outcome("no", error_in_words(error), line_in_words(path, line), observed=f"{type(error).__name__}: {error}", about=about)


def place_in(error: BaseException, path: str) -> tuple[str, int]:
    """The innermost function and line of the file ``path`` that an exception passed through."""
    function, line = "", 0
    trace = error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == path:
            function, line = trace.tb_frame.f_code.co_name, trace.tb_lineno
        trace = trace.tb_next
    return function, line


def line_in_words(path: str, line: int) -> str:
    """``line 57: weights = F.softmax(scores)``; nothing for line 0."""
    return f"line {line}: {linecache.getline(path, line).strip()}" if line else ""


def tell_where_when_asked(path: str, tell: Tell) -> None:
    """On SIGUSR1, tell which line of the file ``path`` is running: where an endless loop is."""

    def answer(signum: int, frame: FrameType | None) -> None:
        while frame and frame.f_code.co_filename != path:
            frame = frame.f_back
        tell("hanging", where=line_in_words(path, frame.f_lineno) if frame else "")

    signal.signal(signal.SIGUSR1, answer)


def error_in_words(error: BaseException) -> str:
    """An exception of the learner's code in one line."""
    if isinstance(error, SystemExit):
        return "Your code ends the program (sys.exit or exit). Remove that; the check needs what comes after."
    if isinstance(error, AnswerWasRead):
        return f"Your file {error}. Write your own, and compare with it when the check says yes."
    message = " ".join(str(error).split()) or "without a message"
    return f"{type(error).__name__}: {message if len(message) <= 300 else message[:300] + ' …'}"


def observe(
    step: Step,
    subjects: Mapping[str, ModuleType],
    claims: list[str] | None = None,
    *,
    compiled: bool = False,
    device: str | None = None,
    tell: Tell | None = None,
) -> Observer:
    """Run the claims of ``step`` on every subject, in one pytest session of this process."""
    observer = Observer(subjects, claims, compiled, tell)
    options = ["--capture=no", *(option for plugin in UNUSED_PLUGINS for option in ("-p", f"no:{plugin}"))]
    options += ["-c", os.devnull, "--rootdir", str(step.check_file.parent), "-p", "checker.plugin"]
    options += ["--disable-plugin-autoload", *(["--device", device] if device else [])]
    pytest.main([*options, str(step.check_file)], plugins=[observer])
    return observer


class Grading:
    """Grades subjects of one step, one after the other; spoiled solutions run at most once a claim."""

    def __init__(self, step: Step, solution: str, tell: Tell) -> None:
        self.step = step
        self.solution = solution
        self.tell = tell
        self.spoiled: dict[str, ModuleType] = {}
        self.seen: dict[str, dict[str, Outcome]] = {}

    def grade(self, subject: ModuleType, compile_: bool, device: str | None) -> None:
        """Tell what every claim says; on a no, which mistake it is; on yes throughout, what compiling gives."""
        observer = observe(self.step, {"subject": subject}, tell=self.tell)
        outcomes = observer.outcomes["subject"]
        self.tell("numbers")
        verdicts = {outcome.verdict for outcome in outcomes.values()}
        if "no" in verdicts:
            for claim, sentence in self.mistakes_behind(outcomes, observer.mistakes).items():
                self.tell("mistake", claim=claim, sentence=sentence)
        elif compile_ and verdicts == {"yes"}:
            observe(self.step, {"subject": subject}, compiled=True, device=device, tell=self.tell)

    def mistakes_behind(self, said: Outcomes, mistakes: Mapping[str, Edits]) -> dict[str, str]:
        """The claims that give a mistake away, and its sentence."""

        def observe_spoiled(names: list[str], claims: list[str]) -> dict[str, dict[str, Outcome]]:
            for name in names:
                if name not in self.spoiled:
                    number = f"spoiled_{len(self.spoiled)}"
                    self.spoiled[name] = load_source(f"graded.{number}", edited(self.solution, mistakes[name]), number)
                    self.seen[name] = {}
            missing = {name: self.spoiled[name] for name in names if not self.seen[name].keys() >= set(claims)}
            if missing:
                for name, outcomes in observe(self.step, missing, claims).outcomes.items():
                    self.seen[name] |= outcomes
            return {name: self.seen[name] for name in names}

        return name_mistakes(said, list(mistakes), observe_spoiled)


def uses_max(source: str) -> bool:
    """Whether a source imports MAX, directly or through an earlier solution."""
    modules = {node.module or "" for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}
    return any(module.split(".")[0] == "max" for module in modules)


def load_learner(job: Mapping[str, Any], step: Step, tell: Tell) -> ModuleType | None:
    """Run the learner's file; when that fails, tell why."""
    try:
        return load_source(f"steps.{step.name}", job["source"], job["path"])
    except BaseException as error:  # noqa: BLE001 - whatever the file does is an answer
        _, line = place_in(error, job["path"])
        tell("unloadable", help=error_in_words(error), where=line_in_words(job["path"], line))
        return None


def main() -> None:
    """Run one job and end."""
    job = json.load(sys.stdin)
    sys.stdin.close()
    tell = channel(int(sys.argv[1]), job.pop("token"))
    sys.argv[:] = [job["path"]]
    logging.getLogger("max").setLevel(logging.ERROR)
    step = Step(job["step"])
    solution = step.solution_file.read_text()
    if uses_max(solution):
        os.environ["MAX_EAGER_EXECUTOR"] = "interpreter"
        from checker import runtime

        runtime.listeners.append(lambda what, seconds: tell("compiling", what=what, seconds=seconds))
    tell_where_when_asked(job["path"], tell)
    grading = Grading(step, solution, tell)
    tell("ready")
    if job["kind"] == "survey":
        survey(grading, job)
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
    path = str(Path(job["path"]))
    first = observe(grading.step, {"solution": load_source(name, grading.solution, path)}, [])
    subjects: dict[str, tuple[str, Edits]] = {"the solution": ("solution", {})}
    subjects |= {name: ("alternative", edits) for name, edits in first.alternatives.items()}
    subjects |= {name: ("mistake", edits) for name, edits in first.mistakes.items()}
    for subject, (kind, edits) in subjects.items():
        grading.tell("subject", name=subject, kind=kind)
        module = load_source(name, edited(grading.solution, edits), path)
        grading.grade(module, job["compile"] and kind == "solution", job["device"])


if __name__ == "__main__":
    main()
