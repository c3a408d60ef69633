"""A claim is run again for the line of an error, and what it is given forgets the first run."""

import functools
import sys
import traceback
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from checker.child.rerun import NO_GRAPH, error_at_its_line
from checker.numeric.references import Draw

PATH = "steps/step_90.py"


class Late:
    """A claim whose error comes from no line of the file, but from the one that ``at_once`` raises, if it is run so."""

    def __init__(self, monkeypatch, at_once=None):
        self.is_eager, self.at_once, self.runs = False, at_once, []
        self.kept = functools.cache(lambda: self.runs.append("computed"))
        self.draw = Draw(3)
        self.funcargs = {"draw": self.draw, "kept": self.kept, "subject": object()}
        monkeypatch.setitem(sys.modules, "checker.max_adapter.runtime", SimpleNamespace(eagerly=self.eagerly))

    @contextmanager
    def eagerly(self):
        self.is_eager = True
        yield
        self.is_eager = False

    def runtest(self):
        self.kept()
        self.runs.append(self.draw.whole("batch", 1, 1000))
        if not self.is_eager:
            raise ValueError("late")
        if self.at_once:
            exec(compile(f"\n{self.at_once}", PATH, "exec"))

    def error(self):
        return pytest.CallInfo.from_call(self.runtest, "call").excinfo.value


def test_the_error_is_that_of_the_line_once_every_operation_is_computed_where_it_stands(monkeypatch):
    claim = Late(monkeypatch, "raise TypeError('here')")
    found = error_at_its_line(claim, claim.error(), PATH)
    assert (type(found), traceback.extract_tb(found.__traceback__)[-1].lineno) == (TypeError, 2)
    assert not claim.is_eager


@pytest.mark.parametrize("at_once", [None, f"raise ValueError('{NO_GRAPH}: an operation that only a graph has')"])
def test_the_error_stays_as_it_came_if_no_line_raises_it(monkeypatch, at_once):
    claim = Late(monkeypatch, at_once)
    error = claim.error()
    assert error_at_its_line(claim, error, PATH) is error


def test_an_error_of_another_file_is_none_of_this_one(monkeypatch):
    claim = Late(monkeypatch, "raise TypeError('here')")
    error = claim.error()
    assert error_at_its_line(claim, error, "steps/step_91.py") is error


def test_the_second_run_draws_the_same_and_keeps_nothing_of_the_first(monkeypatch):
    claim = Late(monkeypatch)
    error_at_its_line(claim, claim.error(), PATH)
    first, second = claim.runs[:2], claim.runs[2:]
    assert first == second
    assert first[0] == "computed"
