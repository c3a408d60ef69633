"""The claims of a small check file, as pytest runs them: which run on what, what each says, and what is told of it."""

import sys
from types import ModuleType

import pytest

from checker.child import reporting
from checker.child.selection import ClaimsToRun
from checker.child.session import collect_graphs, run_claims
from checker.course import check_file, steps
from checker.course.steps import Step
from checker.max_adapter.tracing import AbandonedGraphError, GraphMode, current_mode
from checker.outcomes import RaisedError
from checker.protocol import events
from checker.stages import Mark, Stage

STEP = Step("step_98")
CHECK = '''
import pytest
from checker.claims.vocabulary import about, require

@about("double")
def test_double(subject):
    """It doubles a number.

    Twice.
    """
    seen = subject.double(2)
    require(seen == 4, f"double(2) is {seen}.", seen)

@pytest.mark.drawn
@about("double")
def test_any(subject, draw):
    """It doubles any number."""
    number = draw.whole("number", 10, 99)
    require(subject.double(number) == 2 * number, "It is off.")

@pytest.mark.compiled
@about("double")
def test_compiled(subject):
    """It doubles once MAX has compiled it."""
    subject.compiled()

@about("recorded")
def test_recorded(subject, reference):
    """It doubles what is recorded."""

def test_last(subject):
    """It can be called once more."""
    subject.double(2)
'''


@pytest.fixture(autouse=True)
def checked(tmp_path, monkeypatch):
    """The step whose claims these are."""
    monkeypatch.setattr(steps, "TESTS", tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    STEP.check_file.write_text(CHECK)
    yield
    sys.modules.pop(STEP.check_file.stem, None)
    check_file._statements.cache_clear()


def subject(**functions):
    """Return a module of functions which are written in its file."""
    module = ModuleType("step_98")
    module.__file__ = "steps/step_98.py"
    for name, text in functions.items():
        exec(compile(f"def {name}(*arguments):\n    {text}", module.__file__, "exec"), vars(module))
    return module


def answers(stage=Stage.NUMBERS, *, claims=("test_double", "test_last"), send=lambda event: None, **subjects):
    """Return what these claims, or all, said of each subject."""
    only = dict.fromkeys(subjects, claims) if claims else None
    return run_claims(ClaimsToRun(STEP, subjects, stage, [5], only), send)


RIGHT, WRONG = "return 2 * arguments[0]", "return 3"


def test_each_subject_has_the_outcomes_of_its_claims_in_the_order_of_the_file():
    said = answers(right=subject(double=RIGHT), wrong=subject(double=WRONG))
    assert [list(said[name]) for name in ("right", "wrong")] == 2 * [["test_double", "test_last"]]
    assert [said[name]["test_double"].mark for name in said] == [Mark.PASS, Mark.FAIL]
    assert said["wrong"]["test_double"].why.sentence == "double(2) is 3."


def test_a_subject_runs_only_the_claims_that_are_asked_of_it():
    subjects = {"one": subject(double=RIGHT), "other": subject(double=RIGHT)}
    only = {"one": ["test_last"], "other": ["test_double", "test_compiled"]}
    said = run_claims(ClaimsToRun(STEP, subjects, only=only))
    assert {name: list(outcomes) for name, outcomes in said.items()} == {"one": ["test_last"], "other": ["test_double"]}


def test_without_a_subject_no_claim_runs():
    told = []
    assert run_claims(ClaimsToRun(STEP, {}), told.append) == {}
    assert told == []


def test_it_is_told_when_a_claim_begins_and_how_it_ends():
    told = []
    answers(send=told.append, it=subject(double=WRONG))
    began, ended, *_ = told
    assert began == events.ClaimBegan("It doubles a number.", "it")
    assert (ended.name, ended.about, ended.mark) == ("test_double", "double", Mark.FAIL)
    assert (ended.sentence, ended.why.sentence) == ("It doubles a number.", "double(2) is 3.")


def test_numbers_that_are_drawn_make_a_claim_each_and_a_failure_says_which():
    run = ClaimsToRun(STEP, {"it": subject(double=WRONG)}, Stage.DRAWN, [5, 6])
    outcomes = run_claims(run)["it"]
    assert list(outcomes) == ["test_any[5]", "test_any[6]"]
    sentences = [outcome.reason for outcome in outcomes.values()]
    assert all(sentence.endswith(". It is off.") for sentence in sentences)
    assert sentences[0].startswith("It is right with the recorded numbers, but not with others (number = ")
    assert sentences[0] != sentences[1]


@pytest.mark.parametrize(
    ("text", "to_write", "mark"),
    [
        ("raise NotImplementedError", ["double"], Mark.WAITS),
        ("raise NotImplementedError", [], Mark.FAIL),
        ("raise KeyboardInterrupt", [], Mark.FAIL),
        ("raise SystemExit", [], Mark.FAIL),
        ("return missing", [], Mark.FAIL),
    ],
)
def test_whatever_a_file_raises_is_an_outcome_with_its_line(text, to_write, mark):
    run = ClaimsToRun(STEP, {"it": subject(double=text)}, only={"it": ["test_double"]}, to_write=to_write)
    outcome = run_claims(run)["it"]["test_double"]
    assert outcome.mark == mark
    assert mark == Mark.WAITS or outcome.location.line == 2


def test_what_a_fixture_of_the_check_raises_is_no_outcome_of_the_file():
    told = []
    said = answers(claims=["test_recorded"], send=told.append, it=subject())
    assert said == {"it": {}}
    assert isinstance(told[-1], events.CheckFailed)
    assert "FileNotFoundError" in told[-1].reason


def abandon():
    raise AbandonedGraphError(current_mode())


def test_what_is_traced_ends_where_max_would_compile_and_what_is_not_goes_on():
    module = subject(compiled="abandon()")
    module.abandon = abandon
    (outcome,) = answers(Stage.TRACING, claims=None, it=module)["it"].values()
    assert (outcome.mark, outcome.about) == (Mark.TRACED, "double")
    (outcome,) = answers(Stage.TRACING, claims=None, it=subject(compiled="return"))["it"].values()
    assert outcome.mark == Mark.PASS  # its graph was kept
    assert collect_graphs(STEP, {"it": module}) == [GraphMode.COLLECT]
    assert current_mode() == GraphMode.COMPILE


@pytest.mark.parametrize(
    ("stage", "error", "is_run_again"),
    [
        (Stage.NUMBERS, ValueError("MAX computed it late"), True),
        (Stage.NUMBERS, NotImplementedError(), False),
        (Stage.COMPILED, ValueError("MAX computed it late"), False),
    ],
)
def test_an_error_from_no_line_of_the_file_is_looked_for_again_but_known_as_it_came(
    monkeypatch, stage, error, is_run_again
):
    def computed(*arguments):
        raise error

    def error_at_its_line(item, error, path):
        again.append(item.originalname)
        return pytest.CallInfo.from_call(lambda: module.broken(), "call").excinfo.value

    again, module = [], subject(broken="raise TypeError('here')")
    module.double = module.compiled = computed
    monkeypatch.setattr(reporting, "uses_max", lambda step: True)
    monkeypatch.setattr(reporting, "error_at_its_line", error_at_its_line)
    claim = "test_double" if stage == Stage.NUMBERS else "test_compiled"
    outcome = answers(stage, claims=[claim], it=module)["it"][claim]
    assert again == [claim] * is_run_again
    assert outcome.observation == RaisedError(type(error).__name__, str(error))
    assert (outcome.location is not None) == is_run_again
    assert ("here" in outcome.reason) == is_run_again
