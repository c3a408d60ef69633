"""Why a verdict passes or fails, from the same lists of events as in ``test_advance.py``."""

from dataclasses import replace

from checker.course.languages import MOJO
from checker.course.reading import Location
from checker.parent.state import State, VerdictKind
from checker.parent.verdict import why_claims_fail
from checker.protocol.events import Finding, Printed, Reason
from tests.dev.helpers.checks import (
    ALL_COMPILED,
    COMPILED_TOO,
    CRASHED,
    DIED,
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
    assert folded([*NUMBERS_RIGHT, DIED])[0].verdict.kind is VerdictKind.FAIL
    assert folded(NUMBERS_RIGHT)[0].verdict is None


def test_a_kernel_that_stops_says_where():
    stopped = Printed("At: /tmp/step_07.mojo:6:2: Assert Error: index out of bounds")
    _, lines = folded([OPENED, stopped, DIED], replace(S07, language=MOJO))
    sentence = "No verdict: Mojo stopped (index out of bounds) while the file was loaded. (line 6)"
    assert lines == [CRASHED, sentence]


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
