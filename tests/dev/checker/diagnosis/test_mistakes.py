"""Two mistakes in one file are both named, each judged beside the solution's code, by sketches of arrays."""

import contextlib
import itertools
import random
import traceback

import numpy as np
import pytest

from checker.course.steps import Step
from checker.diagnosis.grafting import compile_grafted, graft
from checker.diagnosis.mistakes import edited, load_attempts, places
from checker.diagnosis.outcomes import GROUPS, sketch
from tests.dev.journeys.test_checks import with_several_blanks
from tools.survey import survey

PAIRS = 5  # of a step


def pairs_of(step: Step, seed: int):
    """Yield pairs of mistakes in any order, each of which lies in another function, and how to make both."""
    solution, mistakes = step.solution_file.read_text(), load_attempts(step).mistakes
    lies_in = {name: places(solution, edits) for name, edits in mistakes.items()}
    pairs = list(itertools.combinations((name for name in mistakes if len(lies_in[name]) == 1), 2))
    random.Random(f"{seed} {step.name}").shuffle(pairs)
    for first, second in pairs:
        edits = {**mistakes[first], **mistakes[second]}
        if lies_in[first] != lies_in[second]:
            with contextlib.suppress(ValueError):  # they touch the same text
                edited(solution, edits)
                yield (first, second), edits


@pytest.mark.slow
@pytest.mark.third
@with_several_blanks
def test_two_mistakes_at_once_are_both_named(step: Step, pytestconfig):
    seed = pytestconfig.option.seed
    drawn = dict(itertools.islice(pairs_of(step, seed), PAIRS))
    subjects = {" | ".join(pair): edits for pair, edits in drawn.items()}
    surveyed = {subject.name: subject for subject in survey(step, subjects, seed=seed).subjects}
    assert [name for name, subject in surveyed.items() if subject.accepted or subject.happened] == []
    unnamed = [pair for pair in drawn if not {*pair} <= {*surveyed[" | ".join(pair)].named}]
    assert len(unnamed) <= 1, unnamed  # one in 500 is named in part


LARGE = np.random.RandomState(0).standard_normal((4, 7, 300)).astype(np.float32)
WITH_NAN = np.where(np.abs(LARGE) < 2, LARGE, np.nan)


@pytest.mark.parametrize("array", [LARGE, WITH_NAN, LARGE[0, :2, :3], np.array(3, np.float32)])
def test_the_same_numbers_in_another_order_of_operations_are_equal(array):
    assert sketch(array) == sketch(((array + 0.1) - 0.1).astype(array.dtype))
    assert sketch(array).sums.size <= GROUPS


@pytest.mark.parametrize(
    "other",
    [
        LARGE + 0.02 * (np.arange(LARGE.size).reshape(LARGE.shape) == 1234),  # a single element differs
        LARGE.reshape(7, 4, 300),
        LARGE.astype(np.float64),
        WITH_NAN,
        np.where(np.isnan(WITH_NAN), np.inf, LARGE),
        LARGE.astype(str),
    ],
)
def test_other_numbers_are_not(other):
    assert sketch(LARGE) != sketch(other)


SOLUTION = '''\
"""A step."""

from __future__ import annotations

import math
from functools import partial, reduce

UNIT = 10


class Thing:
    def __init__(self, size):
        self.size = size

    def area(self):
        return math.pi * self.size

    def double(self):
        return 2 * self.size

    def broken(self):
        raise ValueError("theirs")


def last(things):
    return partial(max)(things) * UNIT
'''
LEARNER = """\
from functools import partial as part, reduce

def mine(size):
    return 100 * size

class Thing:
    def __init__(self, size):
        self.size = mine(size)

    def area(self):
        return reduce(int.__add__, [self.size])

    def broken(self):
        raise ValueError("mine")
"""


def grafted(*theirs: str) -> dict:
    namespace: dict = {"__name__": "grafted"}
    exec(compile_grafted(graft(LEARNER, SOLUTION, theirs), SOLUTION, "learner.py", "solution.py"), namespace)
    return namespace


def test_only_what_was_asked_for_is_the_solutions_and_what_is_lacking():
    made = grafted()
    assert (made["Thing"](2).area(), made["Thing"](2).double()) == (200, 400)
    assert grafted("Thing.__init__")["Thing"](2).area() == 2
    assert round(grafted("Thing.area")["Thing"](2).area()) == 628
    assert made["part"] is made["partial"]
    assert made["last"]([1, 2]) == 20  # their constant, and the half of an import that was missing


@pytest.mark.parametrize(
    ("theirs", "file", "source"), [((), "learner.py", LEARNER), (("Thing.broken",), "solution.py", SOLUTION)]
)
def test_a_traceback_shows_the_lines_of_each_file_as_its_own(theirs, file, source):
    with pytest.raises(ValueError, match=r"mine|theirs") as caught:
        grafted(*theirs)["Thing"](1).broken()
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (frame.filename, frame.line or source.splitlines()[frame.lineno - 1].strip()[:5]) == (file, "raise")
