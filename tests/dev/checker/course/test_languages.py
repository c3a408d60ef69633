"""What is read of a file before it runs: one in Mojo, its functions, what is still to write, what it means."""

import contextlib
import sys
import warnings

import pytest

from checker.course.blanks import skeleton, unwritten
from checker.course.languages import MOJO, PYTHON
from checker.course.reading import Unreadable
from checker.course.source import Source

SOLUTION = Source('''"""Step 98: a kernel, of a kind.

def not_a_function(): this is text.
"""


def double(x: Float32) -> Float32:  # def no_function():
    """Return twice ``x``."""
    # Double it. (1 line)
    return 2 * x


@always_inline
def sums(
    a: Numbers,
    b: Numbers,  # with a bracket )
) -> Float32:
    var text = "a # that is no comment, and a ) that closes nothing"
    # Add up, in a function within. (4 lines)

    def task(i: Int) {imm}:
        # of a task
        a[i] += 1

    task(1)
    return a[0]


struct Operation:
    @staticmethod
    def execute[
        target: StaticString
    ](output: Numbers) raises:
        # Fill it. (1 line)
        output[0] = 1
''')


def test_a_caret_stands_below_what_is_no_python():
    with pytest.raises(Unreadable) as refused:
        PYTHON.refuse(Source("def f():\n    x = 1 +* 2\n"), "")
    assert refused.value.location.as_lines() == ["x = 1 +* 2", "       ^"]


def test_what_python_warns_of_is_no_fault_and_is_said_where_the_file_runs():
    source = Source('def f(x):\n    assert (x, "twice")\n    return "\\d" if x is 1 else x\n')
    with warnings.catch_warnings(action="error"):
        PYTHON.refuse(source, "a file")
        assert list(PYTHON.functions(source)) == ["f"]


def test_the_functions_of_a_file_and_their_lines():
    lines = SOLUTION.lines
    functions = MOJO.functions(SOLUTION).items()
    assert {name: (lines[each.first - 1].strip(), lines[each.last - 1].strip()) for name, each in functions} == {
        "double": ("def double(x: Float32) -> Float32:  # def no_function():", "return 2 * x"),
        "sums": ("@always_inline", "return a[0]"),
        "sums.task": ("def task(i: Int) {imm}:", "a[i] += 1"),
        "Operation.execute": ("@staticmethod", "output[0] = 1"),
    }


def states(source):
    to_write = unwritten(Source(source), SOLUTION, MOJO)
    return {each.blank.label: (each.line is not None, each.started) for each in to_write}


def test_what_is_written_is_seen_line_by_line():
    made, stop = skeleton(SOLUTION, MOJO), f"    {MOJO.stop}\n"
    started = made.replace("    # TODO: Double it. (1 line)\n", "    var y = x + x\n")
    assert states(started)["double"] == (True, True)
    for written in (f"    return y\n{stop}", f"    if y < 0:\n    {stop}    return y\n", f"    # {stop}    return y\n"):
        assert "double" not in states(started.replace(stop, written, 1))
    assert states(made.replace("def double", "def twice"))["double"] == (False, False)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (("2 * x", "2*x  # twice"), True),
        (("    return 2 * x\n", "\n    # as it must be\n    return 2 * x\n"), True),
        (("2 * x", "3 * x"), False),
        (("a # that", "a  # that"), False),  # within a text
        (("    task(1)\n", "        task(1)\n"), False),
    ],
)
def test_comments_and_spaces_mean_nothing(change, same):
    assert (MOJO.meaning(Source(SOLUTION.text.replace(*change))) == MOJO.meaning(SOLUTION)) is same


@pytest.mark.parametrize("source", ["", "def", "def f(", "def f():", '"""', "    )\n"])
def test_half_a_file_is_read_as_far_as_it_goes(source):
    MOJO.meaning(Source(source))
    assert len(unwritten(Source(source), SOLUTION, MOJO)) == 3


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


def test_a_function_in_mojo_may_stand_on_one_line():
    written = "def one(x: Int) -> Int: return x\n\n\ndef two() -> Int:\n    return 2\n"
    one, two = MOJO.functions(Source(written)).values()
    assert (one.first, one.last, one.size, one.stop) == (1, 1, 1, None)
    assert (two.first, two.last, two.size) == (4, 5, 1)
    unwritten = MOJO.functions(Source('def one(x: Int) -> Int: std.os.abort("to write")\n'))
    assert unwritten["one"].stop == 1
