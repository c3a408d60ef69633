"""What a check shows and saves, from lists of events: no file is read, nothing runs, and no time passes."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from checker.compiling import Compiler
from checker.course.opening import OpenedFile
from checker.course.reading import Location
from checker.course.source import Source
from checker.course.steps import find_step
from checker.parent.advance import advance
from checker.parent.effects import (
    CloseView,
    EndCompiling,
    Row,
    ShowCompiling,
)
from checker.parent.state import State, Tried, VerdictKind
from checker.protocol.events import (
    Activity,
    CheckFailed,
    ClaimBegan,
    CompiledTried,
    CompilingBegan,
    CompilingEnded,
    Died,
    Ended,
    FileOpened,
    Finding,
    Interrupted,
    Late,
    Limit,
    NotSaved,
    Reason,
    StageEnded,
    Unloadable,
)
from checker.protocol.job import Options
from checker.stages import Mark, Stage
from cli.watching.watch import in_one_line
from tests.dev.helpers.checks import (
    ALL_COMPILED,
    CHECKS,
    COMPILED_TOO,
    CUT_SHORT,
    DIED,
    DONE,
    DRAWN_TOO,
    FAILS_COMPILED,
    FAILS_COMPILED_BY_MAX,
    LONG,
    MATCHES,
    NO_END_ON_GPU,
    NUMBERS_RIGHT,
    ONE,
    ONE_FAILS,
    OPENED,
    OTHER,
    OTHER_COMPILED_TOO,
    PASSES,
    ROWS,
    S07,
    SAVED,
    STAYS,
    TO_COMPILE,
    folded,
)


@pytest.mark.parametrize(("events", "lines"), CHECKS.values(), ids=CHECKS)
def test_what_follows_from_events(events, lines):
    assert folded(events)[1] == lines


ANOTHER = "MAX 1 is installed."
CALLS_WHAT_IS_NOT_THERE = replace(ONE, mark=Mark.FAIL, why=Reason("AttributeError: …", comes_from_max=True))
OTHERS_SHAPE = Finding("test_other", "other", Reason("A shape."))
ITS_REASON = Finding("test_one", "one", Reason("AttributeError: …", comes_from_max=True))
NUMBERS_ARE_OFF = replace(ONE_FAILS, why=Reason("It is off.", has_numbers=True))

#: What happens in a step whose claims run MAX, where another one is installed -> what is shown and saved.
WITH_MAX = {
    "it cannot be loaded": (
        [OPENED, Unloadable(Reason("ImportError: F", Location(2), comes_from_max=True)), Ended()],
        ["fail : The file can be imported.", ANOTHER],
    ),
    "it cannot be loaded, by itself": (
        [OPENED, Unloadable(Reason("NameError: F", Location(2))), Ended()],
        ["fail : The file can be imported.", "saved: fail", "NameError: F (line 2)"],
    ),
    "it calls what is not there": (
        [OPENED, CALLS_WHAT_IS_NOT_THERE, ITS_REASON, Ended()],
        ["fail one: One is right.", ANOTHER],
    ),
    "it dies after that": (
        [OPENED, CALLS_WHAT_IS_NOT_THERE, DIED],
        ["fail one: One is right.", CUT_SHORT, ANOTHER],
    ),
    "it calls what is not there, and another shape is wrong": (
        [OPENED, CALLS_WHAT_IS_NOT_THERE, replace(OTHER, mark=Mark.FAIL), ITS_REASON, OTHERS_SHAPE, Ended()],
        ["saved: fail", "fail one: One is right.", "fail other: So is it.", ANOTHER, "other: A shape."],
    ),
    "only the compiled claim raises an error, which takes no pass back": (
        [*TO_COMPILE, FAILS_COMPILED_BY_MAX, *ALL_COMPILED],
        [*ROWS, MATCHES, SAVED, "fail g: G.", STAYS, ANOTHER],
    ),
    "another compiled claim holds after that": (
        [*TO_COMPILE, FAILS_COMPILED_BY_MAX, OTHER_COMPILED_TOO, *ALL_COMPILED],
        [*ROWS, MATCHES, SAVED, "fail g: G.", "pass g: G, for two tokens.", STAYS, ANOTHER],
    ),
    "Ctrl-C after that": (
        [*TO_COMPILE, FAILS_COMPILED_BY_MAX, Interrupted()],
        [
            *[*ROWS, MATCHES, SAVED, "fail g: G."],
            "Interrupted while MAX was compiling your module: once compiled, a claim does not hold. Run it again.",
        ],
    ),
    "tracing raises an error, which takes no pass back": (
        [*NUMBERS_RIGHT, FAILS_COMPILED_BY_MAX, StageEnded(Stage.TRACING), CompiledTried(), Ended()],
        [*ROWS, MATCHES, "fail g: G.", ANOTHER],
    ),
    "a number is wrong": (
        [OPENED, NUMBERS_ARE_OFF, Finding("test_one", "one", Reason("Off.", has_numbers=True)), Ended()],
        [
            *["saved: fail", "fail one: One is right."],
            "`./run s07 --show one` shows the numbers side by side.",
            "one: Off.",
        ],
    ),
    "an error turns out to be a wrong number": (
        [OPENED, CALLS_WHAT_IS_NOT_THERE, Finding("test_one", "one", Reason("Off.", has_numbers=True)), Ended()],
        [
            *["saved: fail", "fail one: One is right."],
            "`./run s07 --show one` shows the numbers side by side.",
            "one: Off.",
        ],
    ),
    "it dies while MAX compiles": (
        [*TO_COMPILE, Died(Activity.COMPILING, "")],
        [*ROWS, MATCHES, SAVED, f"Not compiled: {ANOTHER}", STAYS],
    ),
    "it takes too long": (
        [OPENED, Late(Limit.COMPUTING, 10, Location(6))],
        [f"No verdict: {ANOTHER} (line 6)"],
    ),
    "claims are missing": (
        [OPENED, ONE, OTHER, DRAWN_TOO, Ended()],
        [*ROWS, "saved: fail", "No verdict: test_compiled did not run. Does the file stop the check?"],
    ),
    "it dies on a GPU, after the verdict": (
        [*TO_COMPILE, COMPILED_TOO, *ALL_COMPILED, ClaimBegan("G, on this GPU."), DIED],
        [*PASSES, NO_END_ON_GPU],
    ),
}


@pytest.mark.parametrize(("events", "lines"), WITH_MAX.values(), ids=WITH_MAX)
def test_another_max_is_to_blame_for_its_errors_and_a_process_that_ends_and_for_nothing_else(events, lines):
    assert folded(events, replace(S07, why_another_max=ANOTHER))[1] == lines


@pytest.mark.parametrize("end", [Died(Activity.COMPILING, ""), Late(Limit.COMPILING, 900), Interrupted()], ids=repr)
def test_nothing_moves_in_the_view_once_the_child_has_ended(end):
    state, _ = folded(TO_COMPILE)
    assert advance(state, end, 2.0)[1][0] == CloseView()


#: What happens once a pass is saved, and nothing has compiled yet: all of these leave it.
CUT_SHORT_BY = [
    Interrupted(),
    Died(Activity.COMPILING, ""),
    Died(Activity.COMPUTING, ""),
    Late(Limit.COMPILING, 900),
    CheckFailed("so."),
    Ended(),
]


@pytest.mark.parametrize("event", CUT_SHORT_BY, ids=repr)
def test_a_pass_that_is_saved_is_the_verdict_and_is_not_complete(event):
    state, lines = folded([*TO_COMPILE, event, Ended()])
    assert (state.verdict.kind, state.verdict.tried) == (VerdictKind.PASS, Tried.SOME)
    assert [line for line in lines if line.startswith("saved")] == [SAVED]
    assert STAYS in in_one_line(SimpleNamespace(step=find_step("s07"), state=state))


@pytest.mark.parametrize(("why", "words"), [("", "s07 is no longer done: "), (ANOTHER, f"{STAYS} {ANOTHER}")])
def test_watch_takes_a_pass_back_only_where_no_other_max_is_to_blame(why, words):
    events = [*TO_COMPILE, LONG, FAILS_COMPILED_BY_MAX, *ALL_COMPILED, Ended()]
    state, _ = folded(events, replace(S07, why_another_max=why))
    assert words in in_one_line(SimpleNamespace(step=find_step("s07"), state=state))


def test_that_progress_cannot_be_written_is_said_once():
    cannot = NotSaved("progress.json cannot be written", "No space left on device")
    _, lines = folded([*TO_COMPILE, cannot, COMPILED_TOO, *ALL_COMPILED, cannot, Ended()])
    assert [line for line in lines if "not saved" in line] == [
        "(Progress was not saved: progress.json cannot be written, No space left on device.)"
    ]


ENDS = ("Ended", "Died", "Late", "Interrupted", "Unloadable", "CheckFailed")


def test_which_event_leads_from_which_phase_to_which():
    """As the table in ``advance.py`` says."""
    compiled = [*TO_COMPILE, LONG, COMPILED_TOO, *ALL_COMPILED, Ended()]
    taken_back = [*TO_COMPILE, LONG, FAILS_COMPILED, LONG, *ALL_COMPILED]
    leads = set()
    for events in [compiled, taken_back, *(events for events, _ in CHECKS.values())]:
        state = State(S07)
        for event in events:
            before, (state, _) = state.phase, advance(state, event, 5.0 if event is LONG else 2.0)
            if state.phase is not before:
                leads.add((before.name, type(event).__name__, state.phase.name))
    assert {to for _, event, to in leads if event in ENDS} == {"OVER"}
    assert {lead for lead in leads if lead[1] not in ENDS} == {
        ("UNREAD", "FileOpened", "TRYING"),
        ("UNREAD", "FileOpened", "OVER"),
        ("UNREAD", "FileRefused", "OVER"),
        ("TRYING", "StageEnded", "PASSED_UNCOMPILED"),
        ("TRYING", "CompiledTried", "AFTER_VERDICT"),
        ("PASSED_UNCOMPILED", "Tick", "GOING_ON"),
        ("PASSED_UNCOMPILED", "ClaimEnded", "TAKEN_BACK"),
        ("GOING_ON", "ClaimEnded", "TAKEN_BACK"),
        ("PASSED_UNCOMPILED", "CompiledTried", "AFTER_VERDICT"),
        ("GOING_ON", "CompiledTried", "AFTER_VERDICT"),
        ("TAKEN_BACK", "CompiledTried", "AFTER_VERDICT"),
        ("AFTER_VERDICT", "ClaimBegan", "ON_GPU"),
    }


def test_what_compiles_for_long_is_shown_until_it_has_ended_and_then_what_is_around_it():
    state, shown = State(S07), []
    inner, outer = CompilingBegan("a kernel", Compiler.MAX), CompilingBegan("your module", Compiler.MAX)
    events = [(outer, 1.0), (LONG, 2.5), (LONG, 3.5), (inner, 4.0), (LONG, 5.0), (LONG, 6.5)]
    for event, seconds in [*events, (CompilingEnded("a kernel", 3.0), 7.0), (LONG, 7.0), (DONE, 8.0), (LONG, 20.0)]:
        state, effects = advance(state, event, seconds)
        shown += effects
    assert shown == [
        ShowCompiling("your module", 2.5, Compiler.MAX),
        ShowCompiling("a kernel", 2.5, Compiler.MAX),
        EndCompiling("a kernel", 3.0),
        ShowCompiling("your module", 6.0, Compiler.MAX),
        EndCompiling("your module", 3.0),
    ]


def test_no_pass_of_a_solution_is_saved():
    context = replace(S07, options=Options(is_solution=True))
    assert folded([*TO_COMPILE[:-1], Interrupted()], context)[1] == CHECKS["Ctrl-C after the numbers"][1]
    taken_back = [*ROWS, MATCHES, "fail g: G.", "The pass is taken back.", "g: It is off."]
    assert folded([*TO_COMPILE, FAILS_COMPILED, Ended()], context)[1] == taken_back
    end = folded([*TO_COMPILE, DONE, FAILS_COMPILED, Interrupted()], context)[1][-1]
    assert end.startswith("Interrupted: once compiled, a claim does not hold. Run it again;")


def test_the_line_of_a_failure_is_that_of_the_function_with_the_blank():
    """In steps 20 and 23, another class has a function of that name above it."""
    source = Source("class A:\n    def one(): pass\n\n\nclass B:\n    def one(): pass\n")
    context = replace(S07, functions={"one": "B.one"})
    state, effects = advance(folded([FileOpened(OpenedFile(source, 1, ())), ONE_FAILS], context)[0], Ended(), 2.0)
    assert [each.line for each in state.verdict.explanations] == [6]
    assert [effect.line for effect in effects if isinstance(effect, Row)] == [6]
