"""Which known mistake a file makes, from what claims say of it."""

from types import SimpleNamespace

import pytest

from checker.course.source import Source
from checker.course.steps import find_step
from checker.diagnosis.grafting import LearnersFile
from checker.diagnosis.mistake_finder import Mistake, MistakeFinder
from checker.diagnosis.mistakes import KnownMistakes
from checker.outcomes import ObservedText, Outcome, RaisedError
from checker.stages import Mark

FILE = LearnersFile(Source(""), "", Source(""), "", "", {"f": "f", "g": "g", "h": "h"}, [])
OWN, NAMESAKE = "class B:\n    def forward(self, x): return {}\n", "class A:\n    def forward(self, x): return {}\n\n\n"


@pytest.mark.parametrize(("own", "namesake", "possible"), [("f(x)", "g(x)", True), ("g(x)", "f(x)", False)])
def test_a_mistake_that_calls_f_is_possible_in_a_function_that_calls_it_and_not_in_its_namesake(
    own, namesake, possible
):
    source = NAMESAKE.format(namesake) + OWN.format(own)
    file = LearnersFile(Source(source), "", Source(source), "", "", {"forward": "B.forward"}, [])
    known = SimpleNamespace(lies_in={"it": {"forward"}}, edits={"it": {"f(2 * x)": "f(x)"}})
    assert MistakeFinder(file, known).is_possible("it") is possible


def test_a_claim_that_was_not_recorded_of_a_mistake_tells_nothing():
    number = Outcome(Mark.FAIL, observation=ObservedText("3"), about="f")
    error = Outcome(Mark.FAIL, observation=RaisedError("E", "…"), about="g")
    known = KnownMistakes(find_step("w01"), {"it": {"a number": number}})
    known.lies_in, known.edits = {"it": {"f"}}, {"it": {}}
    assert MistakeFinder(FILE, known).find_in_file({"an error": error, "a number": number}) == Mistake("it")


@pytest.mark.parametrize(("text", "mistake"), [("one", Mistake("it")), ("another", None)])
def test_errors_of_which_none_is_a_mistakes_own_do_not_name_it(text, mistake):
    """It lies in ``f``, whose claims hold; those of ``g``, which is not the last, tell nothing by their errors."""
    mine, own = (Outcome(Mark.FAIL, observation=RaisedError("E", words), about="g") for words in (text, "one"))
    known = KnownMistakes(find_step("w01"), {"it": {"of g": own, "of f": Outcome(Mark.PASS)}})
    known.lies_in, known.edits = {"it": {"f"}}, {"it": {}}
    outcomes = {"of g": mine, "of f": Outcome(Mark.PASS, about="f")}
    assert MistakeFinder(FILE, known).find_in_file(outcomes) == mistake


#: The function whose claim raises another error than the mistake does, which lies in ``f`` -> what the file makes.
OF_AN_ERROR = {"g": Mistake("it"), "h": None}


@pytest.mark.parametrize(("about", "mistake"), OF_AN_ERROR.items())
@pytest.mark.parametrize("order", [["of f", "of it"], ["of it", "of f"]])
def test_errors_of_the_last_blank_count_wherever_its_claims_stand(about, mistake, order):
    """All functions meet in the last one; of ``g``, another way to put a file together may be the cause."""
    number = Outcome(Mark.FAIL, observation=ObservedText("3"), about="f")
    mine, its = (Outcome(Mark.FAIL, observation=RaisedError(kind, "…"), about=about) for kind in ("E", "F"))
    known = KnownMistakes(find_step("w01"), {"it": {"of f": number, "of it": its}})
    known.lies_in, known.edits = {"it": {"f"}}, {"it": {}}
    outcomes = {"of f": number, "of it": mine}
    assert MistakeFinder(FILE, known).find_in_file({claim: outcomes[claim] for claim in order}) == mistake
