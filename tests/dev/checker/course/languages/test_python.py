"""What is read of a file in Python before it runs, and why another is refused."""

import contextlib
import sys
import warnings

import pytest

from checker.course.languages import PYTHON
from checker.course.reading import Unreadable
from checker.course.source import Source


def test_a_caret_stands_below_what_is_no_python():
    with pytest.raises(Unreadable) as refused:
        PYTHON.refuse(Source("def f():\n    x = 1 +* 2\n"), "")
    assert refused.value.location.as_lines() == ["x = 1 +* 2", "       ^"]


def test_what_python_warns_of_is_no_fault_and_is_said_where_the_file_runs():
    source = Source('def f(x):\n    assert (x, "twice")\n    return "\\d" if x is 1 else x\n')
    with warnings.catch_warnings(action="error"):
        PYTHON.refuse(source, "a file")
        assert list(PYTHON.functions(source)) == ["f"]


@pytest.mark.parametrize("line", ["type Pair = tuple[int, int]", "def first[T](x: T) -> T: ...", "print(f'{d['a']}')"])
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads it")
def test_syntax_of_a_newer_python_is_said_to_be_that(line):
    with pytest.raises(Unreadable, match=r"Python 3\.11 runs here, and this is syntax of Python 3\.12\."):
        PYTHON.refuse(Source(f"x = 1\n{line}\n"), "a file")


@pytest.mark.parametrize("line", ['if x == "t"', "x['t'] = = 3", 'print("f", {"a": 1)', "if x == 'f'  # {'"])
def test_a_plain_mistake_is_not_said_to_be_syntax_of_a_newer_python(line):
    with pytest.raises(Unreadable) as caught:
        PYTHON.refuse(Source(f"x = 1\n{line}\n"), "a file")
    assert "runs here" not in str(caught.value)


@pytest.mark.parametrize(
    "source", [f"x = {' + '.join(['1'] * 990)}\n", "if x: pass\n" + "elif x: pass\n" * 400], ids=["sum", "elif"]
)
def test_what_nests_too_deeply_to_be_read_is_refused_in_words(source):
    source = Source(source)
    with contextlib.suppress(Unreadable):  # how deep a file may be differs from Python to Python
        PYTHON.refuse(source, "step.py")
        PYTHON.functions(source)
        PYTHON.docstring(source)
