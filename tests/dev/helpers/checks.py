"""Checks of step 07 as lists of events, what they show and save, and the job and the record of one."""

import errno
import json
from dataclasses import replace

from checker.compiling import Compiler
from checker.course.blanks import Blank, Unwritten
from checker.course.languages import PYTHON
from checker.course.opening import OpenedFile
from checker.course.reading import Location
from checker.course.source import Source
from checker.files import ROOT
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
from checker.parent.state import Context, State
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
from checker.protocol.job import Job, Options
from checker.stages import ClaimKind, Mark, Stage

SCHEMA = json.loads((ROOT / "checker" / "parent" / "verdict.schema.json").read_text())  # of a record
JOB = Job(
    step="step_07",
    source=Source("x = 1\n"),
    path="steps/step_07.py",
    to_write=["_attn"],
    options=Options(),
    seed=7,
    tries_compiled_claims=False,
)
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


def read_only(*arguments, **options):
    """In place of what saves: nothing can be written."""
    raise OSError(errno.EROFS, "Read-only file system")
