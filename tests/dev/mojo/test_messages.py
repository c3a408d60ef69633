"""What Mojo's compiler says becomes a sentence, the learner's line, and the line to write; nothing is compiled here."""

import pytest

from checker.mojo.messages import in_words

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

#: Those of no recorded habit; ``test_checks.py`` tries the others.
REWRITTEN = {
    "y = __expf(y)": "y = exp(y)",
    "y = np.maximum(y, x[1])": "y = max(y, x[1])",
    "y /= d ** 0.5": "y /= sqrt(Float32(d))",
    "let z = y": "var z = y",
}


@pytest.mark.parametrize(
    ("printed", "line", "sentence", "shown"),
    [
        (SAID, "var z = there", "use of unknown declaration 'there'.", ["line 3: var z = there"]),
        # ``y++`` and then ``return y`` is, to the compiler, a sum with a ``return`` in it
        (f"/tmp/x/{FILE}:4:5: error: no", "y++", "no. There is no ++.", ["line 3: y++", " write: y += 1"]),
        ("", "pass", "it said nothing. Do the functions still take what they took?", None),
        ("/x/library.mojo:7:5: error: a call", "pass", "a call. Do the functions still take what they took?", None),
        (f"/x/{FILE}:99:1: error: no", "pass", "no.", None),
    ],
)
def test_the_first_error_in_the_learners_file_is_told(printed, line, sentence, shown):
    told, location = in_words(printed, SOURCE.format(line=line), FILE)
    assert told == f"Mojo: {sentence}"
    assert (location and location.as_lines()) == shown


@pytest.mark.parametrize(("line", "instead"), REWRITTEN.items())
def test_a_habit_gets_the_line_to_write(line, instead):
    sentence, location = in_words(f"/tmp/x/{FILE}:3:9: error: no", SOURCE.format(line=line), FILE)
    assert location.as_lines() == [f"line 3: {line}", f" write: {instead}"]
    assert len(sentence) > len("Mojo: no.")


def test_a_task_is_mended_where_it_is_defined():
    source = "def f():\n    @parameter\n    def task(i: Int):\n        pass\n    sync_parallelize(task, 3)\n"
    _, location = in_words(f"/tmp/x/{FILE}:5:5: error: invalid call", source, FILE)
    assert location.as_lines() == ["line 3: def task(i: Int):", " write: def task(i: Int) {imm}:"]
