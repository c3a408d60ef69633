"""What Mojo's compiler says becomes a sentence, the learner's line, and the line to write, which it takes."""

import re

import pytest

from checker.mojo.mojo_errors import explain_error, fault_of_the_machine

SOURCE = """\
def f(x: Numbers, d: Int) -> Float32:
    var y = x[0]
    {line}
    return y
"""
FILE = "step_98.mojo"
SAID = """\
Failed to initialize Crashpad.  Crash reporting will not be available.
Imported from /tmp/x/library.mojo:3:
/tmp/x/library.mojo:7:5: error: invalid call
/tmp/x/step_98.mojo:2:9: warning: something is deprecated
/tmp/x/step_98.mojo:3:9: error: use of unknown declaration 'there'
    var z = there
            ^~~~~
/tmp/x/step_98.mojo:1:5: note: function declared here
/tmp/x/bin/mojo: error: failed to parse the provided Mojo source module
"""

#: Those of no recorded habit; ``test_checks.py`` tries the others. A line, what the compiler says of it, and what to
#: write.
REWRITTEN = [
    ("y = __expf(y)", "no", "y = exp(y)"),
    ("y = np.maximum(y, x[1])", "no", "y = max(y, x[1])"),
    ("y /= d ** 0.5", "no", "y /= sqrt(Float32(d))"),
    ("y /= sqrt(len(x))", "no", "y /= sqrt(Float32(len(x)))"),
    ("let z = y", "no", "var z = y"),
    ("y = -Float32('inf')", "no matching function in initialization", "y = Float32.MIN_FINITE"),
    ('y = float("-inf")', "use of unknown declaration 'float'", "y = Float32.MIN_FINITE"),
    ("y = -math.inf", "use of unknown declaration 'math'; did you mean 'max'?", "y = Float32.MIN_FINITE"),
    (
        "x *= y",
        "expression must be mutable for in-place operator destination",
        "for ref number in x: number *= y",
    ),
    ("z: Float32 = y", "implicit declaration of 'z' is not allowed; add 'var'", "var z: Float32 = y"),
]
HEAD = """\
from std.math import exp, sqrt
comptime Numbers = Span[Float32, MutUntrackedOrigin]
"""
WRONG = "\n\ndef last() -> Float32:\n    return nothing\n"  # so that the compiler stops before it makes code


@pytest.mark.parametrize(
    ("printed", "line", "sentence", "shown"),
    [
        (SAID, "var z = there", "use of unknown declaration 'there'.", ["line 3: var z = there"]),
        # ``y++`` and then ``return y`` is, to the compiler, a sum with a ``return`` in it
        (f"/tmp/x/{FILE}:4:5: error: no", "y++", "no. There is no ++.", ["line 3: y++", " write: y += 1"]),
        ("/x/library.mojo:7:5: error: a call", "pass", "a call. Do the functions still take what they took?", None),
        (f"/x/{FILE}:99:1: error: no", "pass", "no.", None),
    ],
)
def test_the_first_error_in_the_learners_file_is_told(printed, line, sentence, shown):
    told, location = explain_error(printed, SOURCE.format(line=line), FILE)
    assert told == f"Mojo: {sentence}"
    assert (location and location.as_lines()) == shown


@pytest.mark.parametrize(("line", "said", "instead"), REWRITTEN)
def test_a_habit_gets_the_line_to_write(line, said, instead):
    sentence, location = explain_error(f"/tmp/x/{FILE}:3:9: error: {said}", SOURCE.format(line=line), FILE)
    assert location.as_lines() == [f"line 3: {line}", f" write: {instead}"]
    assert len(sentence) > len(f"Mojo: {said}.")


def test_a_whole_number_is_to_be_converted_where_no_habit_is_known():
    said = "cannot implicitly convert 'Int' value to 'Float32'"
    sentence, location = explain_error(f"/tmp/x/{FILE}:3:9: error: {said}", SOURCE.format(line="y = y * d"), FILE)
    assert sentence.endswith("convert it, as in Float32(n).")
    assert location.as_lines() == ["line 3: y = y * d"]


@pytest.mark.slow
def test_the_compiler_takes_every_line_to_write():
    from checker.mojo.library import CompilationError, shared_library

    functions = [SOURCE.format(line=instead).replace("f(", f"f{at}(") for at, (*_, instead) in enumerate(REWRITTEN)]
    with pytest.raises(CompilationError) as refused:
        shared_library({FILE: HEAD + "\n\n".join(functions) + WRONG}, FILE, "the lines to write")
    assert re.findall(r"error: (.*)", str(refused.value))[:-1] == ["use of unknown declaration 'nothing'"]


def test_a_task_is_mended_where_it_is_defined():
    source = "def f():\n    @parameter\n    def task(i: Int):\n        pass\n    sync_parallelize(task, 3)\n"
    _, location = explain_error(f"/tmp/x/{FILE}:5:5: error: invalid call", source, FILE)
    assert location.as_lines() == ["line 3: def task(i: Int):", " write: def task(i: Int) {imm}:"]


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        (SAID, ""),
        ("", "it ended without a word. Run this again."),
        (
            "LLVM ERROR: IO failure on output stream: No space left on device\n",
            "left on device. Make room on the disk.",
        ),
        (
            "Failed to initialize Crashpad. No.\nmojo: error: Read-only file system",
            "here: Read-only file system. That place",
        ),
        ("Stack dump:\n0. main", "here: Stack dump:. Run this again. If that does not help, undo your last change"),
    ],
)
def test_what_is_no_error_in_a_text_is_the_machines(printed, words):
    assert words in fault_of_the_machine(printed)
    assert bool(fault_of_the_machine(printed)) is bool(words)
