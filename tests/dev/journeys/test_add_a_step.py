"""A step that is added to a copy (solution, claims, attempts) is picked up with no other edit."""

import pytest

from tools.course_copy import python

pytestmark = pytest.mark.slow

SOLUTION = '''\
"""Step 98: doubling, which this test has made up."""

from __future__ import annotations

import numpy as np


def doubled(x: np.ndarray) -> np.ndarray:  # [n] -> [n]
    """Return twice every number."""
    # Multiply by two. (1 line)
    return 2 * x
'''
CLAIMS = '''\
"""Step 98, doubling: what is claimed."""

import numpy as np

from checker.claims import about, equal


@about("doubled")
def test_doubled(subject):
    """Every number is there twice."""
    equal(subject.doubled(np.array([1.0, -2.5])), np.array([2.0, -5.0]), whose="the right number")
'''
ATTEMPTS = '''\
"""Step 98: what people write instead."""

MISTAKES = {"The numbers are squared, not doubled.": {"2 * x": "x**2"}}
ALTERNATIVES = {"a sum": {"2 * x": "x + x"}}
HABITS = {}
'''


def test_a_new_step_is_listed_checked_and_surveyed(course):
    (course.root / "solutions" / "solution_98.py").write_text(SOLUTION)
    (course.root / "tests" / "test_step_98.py").write_text(CLAIMS)
    attempts = course.root / "tests" / "attempts" / "step_98.py"
    attempts.write_text(ATTEMPTS)
    course.check("skeletons", status=0)
    assert "# TODO: Multiply by two. (1 line)" in (course.root / "steps" / "step_98.py").read_text()
    assert "s98" in course.check("status").stdout
    assert "todo      doubled" in course.check("s98").stdout
    record = course.root, "-m", "tools", "survey", "98"
    python(*record, status=0)
    attempts.write_text(ATTEMPTS.replace("x**2", "x * 2").replace("x + x", "x + 2"))
    surveyed = python(*record, status=1)
    assert "step_98: The numbers are squared, not doubled. was a mistake was accepted" in surveyed.stderr
    assert "step_98: a sum was refused: " in surveyed.stderr
