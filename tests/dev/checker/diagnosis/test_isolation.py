"""Each function of a file is judged beside the solution's code in the others, in two rounds."""

import pytest

from checker.course.source import Source
from checker.diagnosis.grafting import LearnersFile
from checker.diagnosis.isolation import Isolation
from checker.outcomes import ObservedText, Outcome, failed_outcomes, raised_error
from checker.stages import Mark

SOLUTION = """\
def a(x):
    return b(x) + c(x)

def b(x):
    return 2 * x

def c(x):
    return x + 1

class D:
    def __init__(self):
        self.size = 3

    def forward(self):
        return self.size
"""
FUNCTIONS = {"a": "a", "b": "b", "c": "c", "__init__": "D.__init__", "forward": "D.forward"}

#: A claim -> the function that it is about, and what is right. No claim finds ``c`` wrong if ``c(0)`` is right.
CLAIMS = {"a(0)": ("a", 1), "a(1)": ("a", 4), "b(1)": ("b", 2), "c(0)": ("c", 1), "D().forward()": ("forward", 3)}


class DirectTrials:
    """Tries code by asking it for what the claims name."""

    def run(self, codes, claims, *, notes_inputs=False):
        return {label: outcomes_of(code, claims[label]) for label, code in codes.items()}


def outcomes_of(code, claims):
    exec(code, names := {})
    return {claim: outcome_of(claim, names) for claim in claims}


def outcome_of(claim, names):
    about, right = CLAIMS[claim]
    try:
        value = eval(claim, names)
    except (AttributeError, TypeError) as error:
        return Outcome(Mark.FAIL, observation=raised_error(error), about=about)
    if value == right:
        return Outcome(Mark.PASS, about=about)
    return Outcome(Mark.FAIL, observation=ObservedText(str(value)), about=about)


def judgments_of(edits):
    """Return how the functions of an edited solution are judged that are wrong."""
    text = SOLUTION
    for old, new in edits.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    source, solution = Source(text), Source(SOLUTION)
    questions = {}
    for claim, outcome in failed_outcomes(outcomes_of(source.compiled("step.py"), CLAIMS)).items():
        questions.setdefault(outcome.about, {})[claim] = outcome
    file = LearnersFile(source, "step.py", solution, "solution.py", "step.py", FUNCTIONS, [])
    return Isolation(file, [], DirectTrials()).judge(questions, questions.keys())


def words_of(outcomes):
    return {claim: outcome.observed_text or str(outcome.mark) for claim, outcome in outcomes.items()}


FIRST, SECOND, THIRD = "return b(x) + c(x)", "return 2 * x", "return x + 1"

#: Edits of the solution -> by function that fails a claim, what its claims say last; what the second round changed.
JUDGED = {
    "one is wrong, and another hands on what that gives it": (
        {SECOND: "return 3 * x"},
        {"a": {"a(1)": "pass"}, "b": {"b(1)": "3"}},
        {},
    ),
    "two are wrong, each by itself": (
        {FIRST: "return b(x) - c(x)", SECOND: "return 3 * x"},
        {"a": {"a(0)": "-1", "a(1)": "0"}, "b": {"b(1)": "3"}},
        {},
    ),
    "one is wrong, and calls another that is wrong and passes its claims": (
        {FIRST: "return b(x) + c(x) + (x == 0)", THIRD: "return 3 * x + 1"},
        {"a": {"a(0)": "2", "a(1)": "pass"}},
        {"a": {"a(1)": "6"}},
    ),
    "only one is wrong, and no claim about it says so": (
        {THIRD: "return 3 * x + 1"},
        {"a": {"a(1)": "pass"}},
        {"a": {"a(1)": "6"}},
    ),
}


@pytest.mark.parametrize(("edits", "last_outcomes", "changed_outcomes"), JUDGED.values(), ids=JUDGED)
def test_a_function_is_judged_beside_the_wrong_ones_and_then_beside_all(edits, last_outcomes, changed_outcomes):
    judgments = judgments_of(edits)
    assert {each.label: words_of(each.outcomes) for each in judgments} == last_outcomes
    changed = {each.label: words_of(each.before_second_round) for each in judgments if each.before_second_round}
    assert changed == changed_outcomes
    assert all(each.fits for each in judgments)


#: Edits after which the solution's code does not fit one's own -> what the claims say, last as of the whole file.
UNFIT = {
    "a function takes other arguments": (
        {FIRST: "return b(x, 2) - c(x)", f"def b(x):\n    {SECOND}": "def b(x, y):\n    return x * y"},
        {
            "a": {"a(0)": "-1", "a(1)": "0"},
            "b": {"b(1)": "TypeError: b() missing 1 required positional argument: 'y'"},
        },
    ),
    "an attribute has another name": (
        {"self.size = 3": "self.width = 3", "return self.size": "return self.width + 1"},
        {"forward": {"D().forward()": "4"}},
    ),
}


@pytest.mark.parametrize(("edits", "last_outcomes"), UNFIT.values(), ids=UNFIT)
def test_where_the_solutions_code_does_not_fit_a_claim_keeps_what_it_said_of_the_file(edits, last_outcomes):
    judgments = judgments_of(edits)
    assert {each.label: words_of(each.outcomes) for each in judgments} == last_outcomes
    assert not any(each.before_second_round for each in judgments)


def test_a_function_that_calls_another_otherwise_than_the_solution_does_is_unfit():
    edits, _ = UNFIT["a function takes other arguments"]
    assert [each.label for each in judgments_of(edits) if not each.fits] == ["a", "b"]
    assert all(each.fits for each in judgments_of({SECOND: "return 3 * x"}))
