"""What is read of a file in Mojo before it runs: its functions, what is still to write, what it means."""

import pytest

from checker.course.blanks import skeleton, unwritten_blanks
from checker.course.languages import MOJO
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
    to_write = unwritten_blanks(Source(source), SOLUTION, MOJO)
    return {each.blank.label: (each.line is not None, each.started) for each in to_write}


def test_what_is_written_is_seen_line_by_line():
    made, stop = skeleton(SOLUTION, MOJO), f"    {MOJO.stop_statement}\n"
    started = made.replace("    # TODO: Double it. (1 line)\n", "    var y = x + x\n")
    assert states(started)["double"] == (True, True)
    assert states(started.replace("var y = x + x", 'print("x is", x)'))["double"] == (True, False)
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
    assert len(unwritten_blanks(Source(source), SOLUTION, MOJO)) == 3


def test_a_function_in_mojo_may_stand_on_one_line():
    written = "def one(x: Int) -> Int: return x\n\n\ndef two() -> Int:\n    return 2\n"
    one, two = MOJO.functions(Source(written)).values()
    assert (one.first, one.last, one.size, one.stop_line) == (1, 1, 1, None)
    assert (two.first, two.last, two.size) == (4, 5, 1)
    unwritten = MOJO.functions(Source('def one(x: Int) -> Int: std.os.abort("to write")\n'))
    assert unwritten["one"].stop_line == 1
