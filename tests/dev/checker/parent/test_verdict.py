"""Why a verdict passes or fails, and its words, from the same lists of events as in ``test_advance.py``."""

from dataclasses import replace

import pytest

from checker.compiling import Compiler
from checker.course.languages import MOJO
from checker.course.reading import Location
from checker.parent.state import State, VerdictKind
from checker.parent.verdict import why_claims_fail
from checker.protocol.events import Activity, CompilingBegan, Died, Finding, Late, Limit, Printed, Reason
from checker.protocol.job import Options
from tests.dev.checker.parent.test_advance import (
    ALL_COMPILED,
    COMPILED_TOO,
    CRASHED,
    NUMBERS_RIGHT,
    OPENED,
    OTHER,
    S07,
    TO_COMPILE,
    folded,
)


def test_a_pass_needs_every_claim_and_the_childs_own_end():
    passing = [*TO_COMPILE, COMPILED_TOO, *ALL_COMPILED]
    assert folded(passing)[0].verdict.kind is VerdictKind.PASS
    state, lines = folded([event for event in passing if event != OTHER])
    assert state.verdict.kind is VerdictKind.FAIL
    assert [line for line in lines if line.startswith("saved")] == ["saved: fail"]
    assert folded([*NUMBERS_RIGHT, Died()])[0].verdict.kind is VerdictKind.FAIL
    assert folded(NUMBERS_RIGHT)[0].verdict is None


def test_a_kernel_that_stops_says_where():
    stopped = Printed("At: /tmp/step_07.mojo:6:2: Assert Error: index out of bounds")
    _, lines = folded([OPENED, stopped, Died()], replace(S07, language=MOJO))
    sentence = "No verdict: Mojo stopped (index out of bounds) while the file was loaded. (line 6)"
    assert lines == [CRASHED, sentence]


IN_A_LOOP = Late(Limit.COMPUTING, 10, Location(3, "while True: pass"))
BUSY = Late(Limit.COMPUTING, 10, load_if_busy="load 18 on 2 cores")

#: What leads to a limit: the place, the load, what is compiled -> how the sentence goes on and ends.
LIMITS = {
    "a loop": ([IN_A_LOOP], "timed out after 10 s", "a loop that never ends."),
    "no line of the file": ([Late(Limit.COMPUTING, 10)], "timed out after 10 s", "while the file was loaded."),
    "a wait": (
        [Late(Limit.WAITING, 60, Location(3, "f()"))],
        "after 60 s, it still waits for something",
        "call that waits.",
    ),
    "a busy machine": ([BUSY], "timed out", "processor (load 18 on 2 cores)."),
    "the compiler": (
        [CompilingBegan("your module"), Late(Limit.COMPILING, 900)],
        "MAX was still compiling your module after 900 s.",
        "has no limit.",
    ),
    "Mojo's compiler": (
        [CompilingBegan("your kernel", Compiler.MOJO), Late(Limit.COMPILING, 900)],
        "Mojo was still compiling your kernel after 900 s.",
        "has no limit.",
    ),
    "the start": ([Late(Limit.STARTING, 120)], "it could not begin within 120 s.", "`./run doctor` says more."),
}


@pytest.mark.parametrize(("events", "begins", "ends"), LIMITS.values(), ids=LIMITS)
def test_a_limit_in_words(events, begins, ends):
    sentence = folded([OPENED, *events])[0].verdict.explanations[0].sentence
    assert sentence.startswith(f"No verdict: {begins}")
    assert sentence.endswith(ends)
    assert "  " not in sentence
    of_the_solution = folded([OPENED, *events], replace(S07, options=Options(is_solution=True)))[0]
    assert "loop" not in of_the_solution.verdict.explanations[0].sentence


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_that_a_file_reaches_is_a_failure_to_save(name):
    events, *_ = LIMITS[name]
    is_saved = CRASHED in folded([OPENED, *events])[1]
    assert is_saved is (name in ("a loop", "no line of the file", "a wait"))


@pytest.mark.parametrize("compiler", Compiler)
def test_a_death_says_whose_compiler_was_at_work(compiler):
    (why,) = folded([OPENED, CompilingBegan("it", compiler), Died(Activity.COMPILING)])[0].verdict.explanations
    assert why.sentence.startswith(f"No verdict: the process ended while {compiler} was compiling.")


def test_an_error_that_several_inputs_cause_at_one_line_is_told_once():
    said = ["ValueError: [2, 3] is not [2].", "ValueError: [5, 3] is not [5].", "ValueError: [2, 3] is not [2]."]
    alike = [Finding(each, "f", Reason(each, Location(3), error_key="line 3: ValueError  is not .")) for each in said]
    assert [each.sentence for each in why_claims_fail(State(S07), alike)] == [
        f"{said[0]} (The same happens with another input of the check.)"
    ]


def test_of_what_a_function_does_wrong_the_plainest_is_told():
    """Claims go from the plain to the special, and what a special one says is often false of another mistake."""
    plain = Finding("a claim", "f", Reason("Yours is 3."))
    special = Finding("a claim", "f", Reason("The default is not used."))
    known = Finding("a claim", "f", Reason("Off by one."), mistake="Off by one.")
    other = Finding("a claim", "g", Reason("Yours is 4."))

    def told(*findings):
        return [why.sentence for why in why_claims_fail(State(S07), findings)]

    assert told(plain, special) == ["Yours is 3."]
    assert told(plain, other, special) == ["Yours is 3.", "Yours is 4."]
    assert told(known, known, other) == ["Off by one.", "Yours is 4."]
    at_lines = {"line 1: …": plain, "line 2: …": special}
    assert told(*(replace(each, why=replace(each.why, error_key=key)) for key, each in at_lines.items())) == [
        "Yours is 3."
    ]
