"""What a check shows and saves, from lists of events: no file is read, nothing runs, and no time passes."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from checker.compiling import Compiler
from checker.course.blanks import Blank, Unwritten
from checker.course.languages import PYTHON
from checker.course.opening import OpenedFile
from checker.course.reading import Location
from checker.course.source import Source
from checker.course.steps import find_step
from checker.parent.advance import advance
from checker.parent.effects import (
    CloseView,
    EndCompiling,
    Explanation,
    Row,
    SaveCutShort,
    SaveFailure,
    SavePass,
    ShowCompiling,
    WordsKind,
)
from checker.parent.offers import IN_TERMINAL
from checker.parent.state import Context, State, VerdictKind
from checker.protocol.events import (
    Activity,
    CheckFailed,
    ClaimBegan,
    ClaimEnded,
    CompiledTried,
    CompilingBegan,
    CompilingEnded,
    Died,
    Ended,
    FileOpened,
    FileRefused,
    Finding,
    FunctionsMissing,
    Interrupted,
    Late,
    Limit,
    NotSaved,
    Printed,
    Reason,
    StageEnded,
    Tick,
    Unloadable,
)
from checker.protocol.job import Options
from checker.stages import ClaimKind, Mark, Stage
from cli.watching.watch import in_one_line

KINDS = {
    "test_one": ClaimKind.NUMBERS,
    "test_other": ClaimKind.NUMBERS,
    "test_drawn": ClaimKind.DRAWN,
    "test_compiled": ClaimKind.COMPILED,
}
FILES = ("steps/step_07.py", "solutions/solution_07.py")
S07 = Context("s07", PYTHON, *FILES, "Hugging Face", KINDS, {}, Options(), 5, IN_TERMINAL, why_another_max="")
SOURCE = Source("def one():\n    pass\n\n\ndef other():\n    while True: pass\n")
UNWRITTEN = Unwritten(Blank("other", "Return it. (1 line)", 1, 6, 6), 6)

OPENED = FileOpened(OpenedFile(SOURCE, 2, ()))
OPENED_WITH_BLANK = FileOpened(OpenedFile(SOURCE, 2, (UNWRITTEN,)))
ONE = ClaimEnded("test_one", "one", "One is right.", Mark.PASS)
OTHER = ClaimEnded("test_other", "other", "So is it.", Mark.PASS)
DRAWN_TOO, TRACED_TOO = (
    ClaimEnded("test_drawn[5]", "one", "Drawn.", Mark.PASS),
    ClaimEnded("test_compiled[cpu]", "g", "G.", Mark.TRACED),
)
NUMBERS_RIGHT = [OPENED, ONE, OTHER, StageEnded(Stage.NUMBERS), DRAWN_TOO, StageEnded(Stage.DRAWN)]
BEGUN, DONE = CompilingBegan("your module", Compiler.MAX), CompilingEnded("your module", 3.0)
TO_COMPILE = [*NUMBERS_RIGHT, TRACED_TOO, StageEnded(Stage.TRACING), ClaimBegan("G."), BEGUN]
COMPILED_TOO = replace(TRACED_TOO, mark=Mark.PASS)
ALL_COMPILED = [StageEnded(Stage.COMPILED), CompiledTried()]
OTHER_COMPILED_TOO = ClaimEnded("test_compiled[cpu-2]", "g", "G, for two tokens.", Mark.PASS)
ONE_FAILS = replace(ONE, mark=Mark.FAIL, why=Reason("It is off."))
FAILS_COMPILED = replace(TRACED_TOO, mark=Mark.FAIL, why=Reason("It is off."))
FAILS_COMPILED_BY_MAX = replace(FAILS_COMPILED, why=Reason("It is off.", comes_from_max=True))
DIED = Died(Activity.COMPUTING, "")
LONG = Tick()  # three seconds later than what came before

ROWS = ["pass one: One is right.", "pass other: So is it."]
MATCHES, SAVED = "Pass: the outputs match Hugging Face's (2.0 s).", "saved: pass"
GO_ON = [
    "This step is complete. MAX now compiles your module. You may go on: Ctrl-C keeps the pass.",
]
PASSES = [
    *ROWS,
    MATCHES,
    SAVED,
    "pass g: G.",
    "saved: pass, compiled",
    "Pass (2.0 s). Compare with solutions/solution_07.py.",
]
CRASHED = "saved: fail, unless it has passed"
STAYS = "The pass is kept, as `pass, not compiled`."
RUN_AGAIN = "Run it again when the machine has less to do; if that does not help, please report it."
NO_END_ON_GPU = "The GPU's part did not come to its end. The pass stands."
NOT_EXPLAINED = "Interrupted: the failure is not explained yet. Run it again."
CUT_SHORT = "The check was cut short: the process ended. An explanation may be missing."
REPORT = "Only the compiler has found this, and the check should have found it before: please report it, with "

#: What happens -> what is shown and saved.
CHECKS = {
    "a pass": ([*TO_COMPILE, COMPILED_TOO, *ALL_COMPILED, Ended()], PASSES),
    "a pass of what is not compiled long": (
        [*NUMBERS_RIGHT, COMPILED_TOO, StageEnded(Stage.TRACING), CompiledTried(), Ended()],
        [*PASSES[:3], *PASSES[4:]],
    ),
    "compiling takes long": ([*TO_COMPILE, LONG, LONG], [*ROWS, MATCHES, SAVED, *GO_ON]),
    "Ctrl-C while MAX compiles": (
        [*TO_COMPILE, LONG, Interrupted()],
        [*PASSES[:4], *GO_ON, f"Interrupted while MAX was compiling your module. {STAYS}"],
    ),
    "Ctrl-C between two things that MAX compiles": (
        [*TO_COMPILE, LONG, DONE, Interrupted()],
        [*PASSES[:4], *GO_ON, f"Interrupted. {STAYS}"],
    ),
    "Ctrl-C while MAX compiles what was edited meanwhile": (
        [*TO_COMPILE, NotSaved("the file has been edited since"), LONG, Interrupted()],
        [
            *[*PASSES[:4], "This step is complete. MAX now compiles your module."],
            "Interrupted while MAX was compiling your module. The pass is not kept: the file has been edited since.",
        ],
    ),
    "it passes, but was edited meanwhile": (
        [*TO_COMPILE, COMPILED_TOO, *ALL_COMPILED, NotSaved("the file has been edited since"), Ended()],
        [*PASSES, "(The pass is not kept: the file has been edited since.)"],
    ),
    "Ctrl-C before": (
        [OPENED, ONE, Interrupted()],
        [ROWS[0], "Interrupted: there is no verdict. Run it again."],
    ),
    "Ctrl-C after MAX has compiled something": (
        [OPENED, BEGUN, DONE, ONE, Interrupted()],
        [ROWS[0], "Interrupted: there is no verdict. Run it again; what MAX has compiled is kept."],
    ),
    "Ctrl-C while MAX compiles something in something else": (
        [OPENED, CompilingBegan("a kernel", Compiler.MAX), BEGUN, DONE, Interrupted()],
        [
            "Interrupted while MAX was compiling a kernel: there is no verdict. "
            "Run it again; what MAX has compiled is kept."
        ],
    ),
    "Ctrl-C while Mojo compiles": (
        [OPENED, CompilingBegan("your kernel", Compiler.MOJO), Interrupted()],
        ["Interrupted while Mojo was compiling your kernel: there is no verdict. Run it again."],
    ),
    "Ctrl-C after Mojo has compiled": (
        [OPENED, CompilingBegan("your kernel", Compiler.MOJO), CompilingEnded("your kernel", 3.0), Interrupted()],
        ["Interrupted: there is no verdict. Run it again."],
    ),
    "Ctrl-C after the numbers": (
        [*NUMBERS_RIGHT, Interrupted()],
        [*ROWS, MATCHES, "Interrupted: the outputs match so far. Run it again."],
    ),
    "Ctrl-C after a failure": (
        [OPENED, ONE_FAILS, Interrupted()],
        ["fail one: One is right.", NOT_EXPLAINED],
    ),
    "Ctrl-C after the verdict": ([*TO_COMPILE, COMPILED_TOO, *ALL_COMPILED, Interrupted()], PASSES),
    "it dies after the verdict, where no GPU is": (
        [*TO_COMPILE, COMPILED_TOO, *ALL_COMPILED, DIED],
        PASSES,
    ),
    "Ctrl-C on a GPU": (
        [*TO_COMPILE, COMPILED_TOO, *ALL_COMPILED, ClaimBegan("G, on this GPU."), Interrupted()],
        [*PASSES, NO_END_ON_GPU],
    ),
    "the GPU disagrees, and does not end": (
        [
            *[*TO_COMPILE, COMPILED_TOO, *ALL_COMPILED, ClaimBegan("G, on this GPU.")],
            ClaimEnded("test_compiled[gpu]", "g", "G, on this GPU.", Mark.FAIL, why=Reason("It is off.")),
            DIED,
        ],
        [
            *[*PASSES, "fail g: G, on this GPU."],
            "It is off. Only the GPU disagrees, and the CPU decides: a pass, with that caveat.",
            NO_END_ON_GPU,
        ],
    ),
    "only the compiler finds it": (
        [*TO_COMPILE, replace(TRACED_TOO, mark=Mark.FAIL, why=Reason("It is off.")), *ALL_COMPILED, Ended()],
        [
            *[*ROWS, MATCHES, SAVED, "saved: fail", "fail g: G."],
            f"{REPORT}steps/step_07.py. The pass is taken back.",
            "g: It is off.",
        ],
    ),
    "only the compiler could find it": (
        [*TO_COMPILE, replace(FAILS_COMPILED, foreseen=True), *ALL_COMPILED, Ended()],
        [*ROWS, MATCHES, SAVED, "saved: fail", "fail g: G.", "The pass is taken back.", "g: It is off."],
    ),
    "tracing finds it": (
        [*NUMBERS_RIGHT, FAILS_COMPILED, StageEnded(Stage.TRACING), CompiledTried(), Ended()],
        [*ROWS, MATCHES, "saved: fail", "fail g: G.", "The pass is taken back.", "g: It is off."],
    ),
    "Ctrl-C after tracing has found it": (
        [*NUMBERS_RIGHT, FAILS_COMPILED, Interrupted()],
        [
            *[*ROWS, MATCHES, "fail g: G."],
            "Interrupted: the outputs match, but a claim about the compiled module does not hold. Run it again.",
        ],
    ),
    "Ctrl-C after the compiler has found it": (
        [*TO_COMPILE, DONE, FAILS_COMPILED, LONG, Interrupted()],
        [
            *[*ROWS, MATCHES, SAVED, "saved: fail", "fail g: G."],
            "Interrupted: once compiled, a claim does not hold, and the pass is taken back. Run it again; what MAX has "
            "compiled is kept.",
        ],
    ),
    "it dies after the compiler has found it": (
        [*TO_COMPILE, FAILS_COMPILED, DIED],
        [
            *[*ROWS, MATCHES, SAVED, "saved: fail", "fail g: G."],
            *[CUT_SHORT, f"{REPORT}steps/step_07.py. The pass is taken back.", "g: It is off."],
        ],
    ),
    "it dies after a failure was told": (
        [*NUMBERS_RIGHT, FAILS_COMPILED, StageEnded(Stage.TRACING), CompiledTried(), DIED],
        [*ROWS, MATCHES, "saved: fail", "fail g: G.", "The pass is taken back.", "g: It is off."],
    ),
    "the GPU's part cannot begin": (
        [*TO_COMPILE, COMPILED_TOO, *ALL_COMPILED, CheckFailed("so."), Ended()],
        [*PASSES, "No verdict: so."],
    ),
    "a claim waits for a function that is wrong": (
        [
            *[
                OPENED,
                replace(ONE, mark=Mark.FAIL, why=Reason("It is off.")),
                replace(OTHER, mark=Mark.FAIL, why=Reason("It is, too.")),
            ],
            Finding("test_one", "one", Reason("Nothing is divided.", Location(2), True), mistake="Nothing."),
            Finding("test_other", "other", Reason("waits until one works"), mark=Mark.WAITS),
            Ended(),
        ],
        [
            *["saved: fail", "fail one: One is right.", "waits other: waits until one works"],
            "`./run s07 --show one` shows the numbers side by side.",
            "one: Nothing is divided. (line 2)",
        ],
    ),
    "two functions are wrong": (
        [
            *[OPENED, replace(ONE, mark=Mark.FAIL), replace(OTHER, mark=Mark.FAIL)],
            *[Finding("test_one", "one", Reason("First.")), Finding("test_other", "other", Reason("Second."))],
            Ended(),
        ],
        [
            *["saved: fail", "fail one: One is right.", "fail other: So is it.", "other: Second."],
            *["one and other are each wrong. Begin with one:", "one: First."],
        ],
    ),
    "drawn numbers are wrong": (
        [
            *NUMBERS_RIGHT[:4],
            replace(DRAWN_TOO, mark=Mark.FAIL, why=Reason("Not with others.")),
            StageEnded(Stage.DRAWN),
            Ended(),
        ],
        [
            *[*ROWS, "saved: fail", "fail one: Drawn."],
            "Every check draws new numbers; `./run s07 --seed 5` draws these again.",
            "one: Not with others.",
        ],
    ),
    "a blank is left": (
        [OPENED_WITH_BLANK, ONE, replace(OTHER, mark=Mark.WAITS, why=Reason("…")), Ended()],
        ["todo other: line 6: Return it. (1 line)", ROWS[0], "Right so far. Still to write: other."],
    ),
    "everything waits": (
        [OPENED_WITH_BLANK, replace(ONE, mark=Mark.WAITS, why=Reason("…")), Ended()],
        ["todo other: line 6: Return it. (1 line)", "waits one: …", "Nothing could be tried yet."],
    ),
    "a blank is left, and all holds": (  # a name may be given another function afterwards
        [OPENED_WITH_BLANK, *TO_COMPILE[1:], COMPILED_TOO, *ALL_COMPILED, Ended()],
        [
            *["todo other: line 6: Return it. (1 line)", ROWS[0], "pass g: G."],
            "Right so far. Still to write: other.",
        ],
    ),
    "explaining takes long": (
        [
            *[OPENED, ONE_FAILS, replace(OTHER, mark=Mark.FAIL, why=Reason("No.")), LONG],
            Finding("test_other", "other", Reason("It waits."), mark=Mark.WAITS),
            Finding("test_one", "one", Reason("Off.")),
            Ended(),
        ],
        ["saved: fail", "fail one: One is right.", "waits other: It waits.", "one: Off."],
    ),
    "a function is not there": (
        [OPENED, FunctionsMissing({"A.other": "othr"}), ONE, Ended()],
        [
            "todo other: there is no A.other in the file any more; it has othr: call it other",
            *[ROWS[0], "Right so far. Still to write: other."],
        ],
    ),
    "nothing is written": (
        [FileOpened(OpenedFile(SOURCE, 1, (UNWRITTEN,)))],
        [
            "todo other: line 6: Return it. (1 line)",
            "One blank is left to write. Replace `raise NotImplementedError` with code, and run this again.",
        ],
    ),
    "only the line at which a blank stops is left": (
        [FileOpened(OpenedFile(SOURCE, 2, (UNWRITTEN, replace(UNWRITTEN, started=True))))],
        [
            "todo other: line 6: Return it. (1 line)",
            "todo other: line 6 still says raise NotImplementedError: delete that line",
            "Nothing can be tried while every blank has `raise NotImplementedError`. Delete it where you have written "
            "code, and run this again.",
        ],
    ),
    "no file": ([FileRefused("The file is missing.")], ["The file is missing."]),
    "no Python": (
        [FileRefused("A bracket is open.", Location(3, "f("), "The file is Python.", source=Source("f("))],
        ["fail : The file is Python.", "saved: fail", "A bracket is open. (line 3)"],
    ),
    "no text of Python": ([FileRefused("Null bytes.", source=Source("\0"))], ["saved: fail", "Null bytes."]),
    "it cannot be loaded": (
        [OPENED, Unloadable(Reason("NameError: F", Location(2))), Ended()],
        ["fail : The file can be imported.", "saved: fail", "NameError: F (line 2)"],
    ),
    "it is older than the step": (
        [OPENED, Unloadable(Reason("ImportError: F"), changed_since=["f", "g"]), Ended()],
        [
            "fail : The file can be imported.",
            "saved: fail",
            "ImportError: F. The step has changed since this file was written: see f, g. `./run reset s07` writes "
            "today's skeleton, and keeps your file beside it.",
        ],
    ),
    "it dies after it could not be loaded": (
        [OPENED, Unloadable(Reason("NameError: F", Location(2))), DIED],
        ["fail : The file can be imported.", "saved: fail", "NameError: F (line 2)"],
    ),
    "MAX cannot": ([OPENED, CheckFailed("MAX."), Ended()], ["No verdict: MAX."]),
    "it dies": (
        [OPENED, ClaimBegan("One is right."), DIED],
        [
            CRASHED,
            "No verdict: the process ended during this claim: One is right. Look for os._exit, or an exit in C code.",
        ],
    ),
    "it is killed": (
        [OPENED, ClaimBegan("One is right."), Died(Activity.COMPUTING, "SIGKILL")],
        [
            "No verdict: the process was ended by SIGKILL during this claim: One is right. "
            "Look for a kill, or for more than fits into memory.",
        ],
    ),
    "somebody terminates it": (
        [OPENED, ClaimBegan("One is right."), Died(Activity.COMPUTING, "SIGTERM")],
        [
            "No verdict: the process was ended by SIGTERM during this claim: One is right. "
            "Look for a kill, in the file or from outside.",
        ],
    ),
    "it crashes": (
        [OPENED, ClaimBegan("One is right."), Died(Activity.COMPUTING, "SIGABRT")],
        [
            CRASHED,
            "No verdict: the process was ended by SIGABRT during this claim: One is right. "
            "Look for os.abort, or an index outside of its table, at which MAX may crash.",
        ],
    ),
    "it reads where it may not": (
        [OPENED, ClaimBegan("One is right."), Died(Activity.COMPUTING, "SIGSEGV")],
        [
            CRASHED,
            "No verdict: the process was ended by SIGSEGV during this claim: One is right. "
            "Look for ctypes, or an index outside of its table, at which MAX may crash.",
        ],
    ),
    "it dies after a claim": (
        [OPENED, ClaimBegan("One is right."), ONE, DIED],
        [
            *[ROWS[0], CRASHED],
            "No verdict: the process ended between two claims. Look for os._exit, or an exit in C code.",
        ],
    ),
    "it dies after it has failed": (
        [OPENED, ONE_FAILS, DIED],
        ["saved: fail", "fail one: One is right.", CUT_SHORT, "one: It is off."],
    ),
    "it takes too long to explain a failure": (
        [OPENED, ONE_FAILS, Late(Limit.COMPUTING, 10)],
        [
            *["saved: fail", "fail one: One is right."],
            *[CUT_SHORT.replace("the process ended", "timed out after 10 s"), "one: It is off."],
        ],
    ),
    "it dies while it imports MAX": (
        [OPENED, Died(Activity.STARTING, "")],
        ["No verdict: the process ended before it could begin. `./run doctor` says more."],
    ),
    "the check breaks while it explains a failure": (
        [OPENED, ONE_FAILS, CheckFailed("the check failed."), Ended()],
        ["saved: fail", "fail one: One is right.", "No verdict: the check failed.", "one: It is off."],
    ),
    "it dies while MAX compiles": (
        [*TO_COMPILE, Died(Activity.COMPILING, "")],
        [*ROWS, MATCHES, SAVED, f"Not compiled: the process ended while MAX was compiling. {RUN_AGAIN}", STAYS],
    ),
    "it is killed while MAX compiles": (
        [*TO_COMPILE, LONG, Died(Activity.COMPILING, "SIGKILL")],
        [
            *[*ROWS, MATCHES, SAVED, *GO_ON],
            "Not compiled: the process was ended by SIGKILL while MAX was compiling. "
            "Look for a kill, or for more than fits into memory.",
            STAYS,
        ],
    ),
    "MAX compiles for too long": (
        [*TO_COMPILE, LONG, Late(Limit.COMPILING, 900)],
        [
            *[*ROWS, MATCHES, SAVED, *GO_ON],
            "Not compiled: MAX was still compiling your module after 900 s. "
            "Check it again when the machine has less to do; `./run warm` has no limit.",
            STAYS,
        ],
    ),
    "the check breaks while MAX compiles": (
        [*TO_COMPILE, CheckFailed("the check failed."), Ended()],
        [*ROWS, MATCHES, SAVED, "Not compiled: the check failed.", STAYS],
    ),
    "it dies while an operation is compiled": (
        [OPENED, ClaimBegan("One is right."), CompilingBegan("it", Compiler.MAX), Died(Activity.COMPILING, "SIGSEGV")],
        [f"No verdict: the process was ended by SIGSEGV while MAX was compiling. {RUN_AGAIN}"],
    ),
    "it ends without a claim": (
        [OPENED, ONE, Ended()],
        [
            *[ROWS[0], "saved: fail"],
            "No verdict: test_compiled, test_drawn, test_other did not run. Does the file stop the check?",
        ],
    ),
    "it ends without the compiled claim": (
        [*TO_COMPILE, Ended()],
        [
            *[*ROWS, MATCHES, SAVED],
            *["Not compiled: test_compiled did not run. Does the file stop the check?", STAYS],
        ],
    ),
    "it prints": ([OPENED, Printed("hello")], ["| hello"]),
}


MOVING = ShowCompiling | EndCompiling | CloseView  # which adds no line


def folded(events, context=S07):
    """Return the state after some events, and what follows from them, a line each."""
    state, lines = State(context), []
    for event in events:
        state, effects = advance(state, event, seconds=5.0 if event is LONG else 2.0)
        lines += [effect_in_words(effect) for effect in effects if not isinstance(effect, MOVING)]
    return state, lines


def effect_in_words(effect):
    match effect:
        case Row():
            return f"{effect.mark} {effect.about}: {effect.sentence}"
        case SavePass():
            return "saved: pass, compiled" if effect.compiled else "saved: pass"
        case SaveFailure():
            return "saved: fail"
        case SaveCutShort():
            return "saved: fail, unless it has passed"
        case Explanation():
            head, place = f"{effect.about}: " * bool(effect.about), effect.location
            return f"{head}{effect.sentence}{f' (line {place.line})' if place else ''}"
    return f"| {effect.text}" if effect.kind == WordsKind.PRINTED else effect.text


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
    assert (state.verdict.kind, state.verdict.is_complete) == (VerdictKind.PASS, False)
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
    state, _ = folded([FileOpened(OpenedFile(source, 1, ())), ONE_FAILS, Ended()], context)
    assert [each.line for each in state.verdict.explanations] == [6]
