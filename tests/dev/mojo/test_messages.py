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

REWRITTEN = {
    "y = np.exp(y)": "y = exp(y)",
    "y = __expf(y)": "y = exp(y)",
    "y = fmaxf(y, x[1])": "y = max(y, x[1])",
    "y = np.maximum(y, x[1])": "y = max(y, x[1])",
    "y /= sqrt(d)": "y /= sqrt(Float32(d))",
    "y /= d ** 0.5": "y /= sqrt(Float32(d))",
    "float z = y": "var z = y",
    "let z = y": "var z = y",
    "y++": "y += 1",
    "sync_parallelize[task](d)": "sync_parallelize(task, d)",
}


def test_the_first_error_in_the_learners_file_is_told():
    sentence, where = in_words(SAID, SOURCE.format(line="var z = there"), FILE)
    assert sentence == "Mojo: use of unknown declaration 'there'."
    assert where.as_lines() == ["line 3: var z = there"]


@pytest.mark.parametrize(("line", "instead"), REWRITTEN.items())
def test_a_habit_gets_the_line_to_write(line, instead):
    said = f"/tmp/x/{FILE}:3:9: error: no"
    sentence, where = in_words(said, SOURCE.format(line=line), FILE)
    assert where.as_lines() == [f"line 3: {line}", f" write: {instead}"]
    assert len(sentence) > len("Mojo: no.")


def test_an_error_on_the_line_after_is_put_where_it_comes_from():
    """``y++`` and then ``return y`` is, to the compiler, a sum with a ``return`` in it."""
    _, where = in_words(f"/tmp/x/{FILE}:4:5: error: unexpected token", SOURCE.format(line="y++"), FILE)
    assert where.as_lines() == ["line 3: y++", " write: y += 1"]


def test_a_task_is_mended_where_it_is_defined():
    source = "def f():\n    @parameter\n    def task(i: Int):\n        pass\n    sync_parallelize(task, 3)\n"
    _, where = in_words(f"/tmp/x/{FILE}:5:5: error: invalid call", source, FILE)
    assert where.as_lines() == ["line 3: def task(i: Int):", " write: def task(i: Int) {imm}:"]


@pytest.mark.parametrize(
    "said", ["", "/x/library.mojo:7:5: error: invalid call to 'f': missing argument", f"/x/{FILE}:99:1: error: no"]
)
def test_whatever_it_says_becomes_a_sentence(said):
    sentence, where = in_words(said, SOURCE.format(line="pass"), FILE)
    assert sentence.startswith("Mojo: ")
    assert where is None
