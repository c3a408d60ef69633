"""What is read of a file in Mojo without its compiler: its functions, what is still to write, what it means."""

import ast

import pytest

from checker.course.blanks import skeleton, unwritten
from checker.course.languages.mojo import MOJO
from checker.course.languages.python import calls

SOLUTION = '''"""Step 98: a kernel, of a kind.

def not_a_function(): this is text.
"""

from std.os import abort


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
'''


def test_the_functions_of_a_file_and_their_lines():
    found = MOJO.functions(SOLUTION)
    lines = SOLUTION.splitlines()
    assert list(found) == ["double", "sums", "sums.task", "Operation.execute"]
    assert [lines[one.first - 1].strip() for one in found.values()] == [
        "def double(x: Float32) -> Float32:  # def no_function():",
        "@always_inline",
        "def task(i: Int) {imm}:",
        "@staticmethod",
    ]
    assert [lines[one.last - 1].strip() for one in found.values()] == [
        "return 2 * x",
        "return a[0]",
        "a[i] += 1",
        "output[0] = 1",
    ]


def states(source):
    return [(one.blank.label, one.line is not None, one.started) for one in unwritten(source, SOLUTION, MOJO)]


def test_what_is_written_is_seen_line_by_line():
    made = skeleton(SOLUTION, MOJO)
    started = made.replace("    # TODO: Double it. (1 line)\n", "    var y = x + x\n")
    assert states(started)[0] == ("double", True, True)
    returned = started.replace(f"    {MOJO.stop}\n", f"    return y\n    {MOJO.stop}\n", 1)
    assert "double" not in [label for label, _, _ in states(returned)]
    within = started.replace(f"    {MOJO.stop}\n", f"    if y < 0:\n        {MOJO.stop}\n    return y\n", 1)
    assert "double" not in [label for label, _, _ in states(within)]
    commented = started.replace(f"    {MOJO.stop}\n", f"    # {MOJO.stop}\n    return y\n", 1)
    assert "double" not in [label for label, _, _ in states(commented)]
    assert states(made.replace("def double", "def twice"))[0] == ("double", False, False)


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
    assert (MOJO.meaning(SOLUTION.replace(*change)) == MOJO.meaning(SOLUTION)) is same


@pytest.mark.parametrize("source", ["", "def", "def f(", "def f():", "struct S:\n", '"""', "    )\n", "def f(x: Int"])
def test_half_a_file_is_read_as_far_as_it_goes(source):
    MOJO.functions(source)
    MOJO.meaning(source)
    assert len(unwritten(source, SOLUTION, MOJO)) == 3


CALLING = """
def one(x): return x
def two(x): return [one(item) for item in x.four]
def three(x): return sorted(x, key=two)
class Box:
    def __init__(self): self.size = one(1)
    def forward(self): return self._inner()
    def _inner(self): return 2
def four(): return Box()
"""


def test_who_calls_whom_itself_or_through_others():
    box = {"Box.__init__", "Box.forward", "Box._inner"}
    assert calls(ast.parse(CALLING)) == {
        "one": set(),
        "two": {"one"},
        "three": {"one", "two"},
        "Box.__init__": {"one"},
        "Box.forward": {"Box._inner", "Box.__init__", "one"},
        "Box._inner": {"Box.__init__", "one"},
        "four": {"one", *box},
    }
