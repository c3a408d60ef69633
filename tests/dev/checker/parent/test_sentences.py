"""What a check says of a limit, and last, from lists of events; ``test_advance.py`` has whole checks."""

from dataclasses import replace

import pytest

from checker.compiling import Compiler
from checker.course.reading import Location
from checker.protocol.events import Activity, CompilingBegan, Died, Ended, Finding, Late, Limit, NumbersCompared, Reason
from checker.protocol.job import Options
from checker.stages import Mark
from tests.dev.helpers.checks import CRASHED, NUMBERS_RIGHT, ONE_FAILS, OPENED, OTHER, S07, SAVED, folded

#: Options -> how a right file is passed with them, and what is saved of it.
PASS_WITH = {
    "--no-compile": (Options(compile=False), "Pass (2.0 s), not compiled: --no-compile left", [SAVED]),
    "--show": (Options(show="one"), "Pass (2.0 s), not compiled: --show left", [SAVED]),
    "--solution": (Options(is_solution=True, compile=False), "Pass (2.0 s), not compiled: --no-compile", []),
}


@pytest.mark.parametrize(("options", "words", "saved"), PASS_WITH.values(), ids=PASS_WITH)
def test_what_a_pass_leaves_out(options, words, saved):
    _, lines = folded([*NUMBERS_RIGHT, Ended()], replace(S07, options=options))
    assert [line for line in lines if line.startswith(words)]
    assert [line for line in lines if line.startswith("saved")] == saved


def test_of_a_right_function_it_is_said_that_there_are_no_numbers_to_show():
    _, lines = folded([*NUMBERS_RIGHT, Ended()], replace(S07, options=Options(show="one")))
    assert "one has no wrong numbers to show." in lines


def test_numbers_are_shown_if_there_are_wrong_ones():
    context = replace(S07, options=Options(show="one"))
    wrong = [OPENED, ONE_FAILS, Finding("test_one", "one", Reason("Off.", has_numbers=True))]
    assert folded([*wrong, NumbersCompared("one", ["1 2", "1 3"]), Ended()], context)[1][2:4] == ["1 2", "1 3"]
    assert "one has no wrong numbers to show." in folded([*wrong, NumbersCompared("one", ()), Ended()], context)[1]


def test_a_function_that_waits_has_no_numbers_to_show_yet():
    context = replace(S07, options=Options(show="other"))
    wrong = [OPENED, ONE_FAILS, replace(OTHER, mark=Mark.WAITS), Finding("test_one", "one", Reason("Off.")), Ended()]
    assert "other waits, so it has no numbers to show yet." in folded(wrong, context)[1]


IN_A_LOOP = Late(Limit.COMPUTING, 10, Location(3, "while True: pass"))
BUSY = Late(Limit.COMPUTING, 10, load_if_busy="load 18 on 2 cores")

#: What leads to a limit: the place, the load, what is compiled -> how the sentence goes on and ends, what is saved.
LIMITS = {
    "a loop": ([IN_A_LOOP], "timed out after 10 s", "a loop that never ends.", [CRASHED]),
    "no line of the file": (
        [Late(Limit.COMPUTING, 10)],
        "timed out after 10 s",
        "while the file was loaded.",
        [CRASHED],
    ),
    "a wait": (
        [Late(Limit.WAITING, 60, Location(3, "f()"))],
        "after 60 s, it still waits for something",
        "call that waits.",
        [CRASHED],
    ),
    "a busy machine": ([BUSY], "timed out", "processor (load 18 on 2 cores).", []),
    **{
        compiler: (
            [CompilingBegan("it", compiler), Late(Limit.COMPILING, 900)],
            f"{compiler} was still compiling it after 900 s.",
            "has no limit.",
            [],
        )
        for compiler in Compiler
    },
    "the start": ([Late(Limit.STARTING, 120)], "it could not begin within 120 s.", "`./run doctor` says more.", []),
}


@pytest.mark.parametrize(("events", "begins", "ends", "saved"), LIMITS.values(), ids=LIMITS)
def test_a_limit_in_words(events, begins, ends, saved):
    state, lines = folded([OPENED, *events])
    assert [line for line in lines if line.startswith("saved")] == saved
    sentence = state.verdict.explanations[0].sentence
    assert sentence.startswith(f"No verdict: {begins}")
    assert sentence.endswith(ends)
    assert "  " not in sentence
    of_the_solution = folded([OPENED, *events], replace(S07, options=Options(is_solution=True)))[0]
    assert "loop" not in of_the_solution.verdict.explanations[0].sentence


@pytest.mark.parametrize("compiler", Compiler)
def test_a_death_says_whose_compiler_was_at_work(compiler):
    (why,) = folded([OPENED, CompilingBegan("it", compiler), Died(Activity.COMPILING, "")])[0].verdict.explanations
    assert why.sentence.startswith(f"No verdict: the process ended while {compiler} was compiling.")
