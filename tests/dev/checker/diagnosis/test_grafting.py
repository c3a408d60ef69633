"""A file that is put together from the learner's functions and the solution's."""

import traceback

import pytest

from checker.course.source import Source
from checker.diagnosis.grafting import Graft, compile_grafted, graft

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
    learner, solution = Source(LEARNER), Source(SOLUTION)
    tree = graft(learner, solution, map(Graft, theirs))
    exec(compile_grafted(tree, solution, "learner.py", "solution.py"), namespace)
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


BARE = "def f(x):\n    y = {} * x\n    return {} * y\n"
TOLD = 'def f(x):\n    """Return it."""\n    y = {} * x\n    return {} * y\n'


@pytest.mark.parametrize(("mine", "theirs"), [(BARE, TOLD), (TOLD, BARE), (TOLD, TOLD)])
def test_a_function_begins_as_the_solutions_does_whichever_has_a_docstring(mine, theirs):
    namespace: dict = {}
    tree = graft(Source(mine.format(3, 5)), Source(theirs.format(2, 7)), [Graft("f", 1)])
    exec(compile(tree, "f.py", "exec"), namespace)
    assert namespace["f"](1) == 2 * 5
