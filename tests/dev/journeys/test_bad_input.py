"""Whatever stands where a learner's file should be, and whatever it does: no pass, and a sentence on what to do."""

import json
import os
import re

import jsonschema
import pytest

from checker.course.steps import ROOT
from checker.events import Job, Printed
from checker.session.child import Child

SCHEMA = json.loads((ROOT / "checker" / "session" / "verdict.schema.json").read_text())
ANSWER = "Your file imports solutions.warmup_01, the answer to this step."
TIMED_OUT = "No verdict: timed out after 2 s during this claim: "
FAKE = "Pass (0.1 s). Compare with solutions/warmup_01.py."
IMPORT, SCORES = "import numpy as np\n", "return query @ np.swapaxes(key, -2, -1)"


def put(what):
    """Put something other than a file of Python in the place of ``steps/warmup_01.py``."""
    return lambda path: (path.unlink(), what(path))


def written(text):
    return lambda path: path.write_bytes(text.encode() if isinstance(text, str) else text)


def at_import(line):
    return lambda path: path.write_text(solution(path).replace(IMPORT, f"{IMPORT}{line}\n"))


def while_scoring(line):
    return lambda path: path.write_text(solution(path).replace(SCORES, f"{line}; {SCORES}"))


def solution(path):
    return (path.parent.parent / "solutions" / path.name).read_text()


IN_PLACE_OF_THE_FILE = {
    "nothing": (put(lambda path: None), "The file is missing. `./run skeletons` writes it anew."),
    "a folder": (put(lambda path: path.mkdir()), "This is a folder, not a file. Move it away"),
    "a fifo": (put(os.mkfifo), "This is not a regular file. Move it away"),
    "a link to itself": (put(lambda path: path.symlink_to(path)), "The file cannot be read: "),
    "10 MB": (written("x" * 10_000_000), "The file has 10,000,000 bytes, and a step has a few thousand."),
    "Latin 1": (written(b"x = '\xe9'"), "not UTF-8 text: byte 5 is 0xe9. Save it as UTF-8."),
    "a null byte": (written("x = 1\0"), "null"),
    "nested deeply": (written("(" * 3000 + ")" * 3000), "too "),
    "a syntax error": (written("x = 1\ny = (\n"), "Line 2: '(' was never closed."),
    "an import that comes too late": (
        written("x = 1\nfrom __future__ import annotations\n"),
        "Line 2: from __future__ imports must occur at the beginning of the file.",
    ),
    "an empty file": (written(""), "there is no attention_scores in the file any more"),
}

WHAT_IT_DOES = {
    "a module that is missing": (at_import("import maths"), "ModuleNotFoundError: No module named 'maths'"),
    "exit at import": (at_import("import sys; sys.exit(0)"), "Your code ends the program"),
    "os._exit at import": (at_import("import os; os._exit(0)"), "the process ended while the file was loaded."),
    "kills its group": (at_import("import os, signal; os.killpg(0, signal.SIGKILL)"), "the process ended while"),
    "a fake verdict": (at_import(f"print({FAKE!r}, flush=True); import os; os._exit(0)"), "the process ended while"),
    "a loop at import": (at_import("while True: pass"), "timed out after 2 s while the file was loaded."),
    "the answer, imported": (written("from solutions.warmup_01 import *\n\ndef attention_scores(): ...\n"), ANSWER),
    "the answer, imported from its folder": (at_import("from solutions import warmup_01"), ANSWER),
    "exit": (while_scoring("import sys; sys.exit(0)"), "attention_scores: Your code ends the program"),
    "os._exit": (while_scoring("import os; os._exit(0)"), "No verdict: the process ended during this claim: "),
    "an endless loop": (lambda path: path.write_text(solution(path).replace(SCORES, "while True: pass")), TIMED_OUT),
    "an interrupt": (while_scoring("raise KeyboardInterrupt"), "attention_scores: KeyboardInterrupt"),
    "the end of pytest": (while_scoring("import pytest; pytest.exit('done')"), "attention_scores: Exit"),
    "a claim that is skipped": (while_scoring("import pytest; pytest.skip('done')"), "attention_scores: Skipped"),
}


@pytest.mark.parametrize(("make", "words"), IN_PLACE_OF_THE_FILE.values(), ids=IN_PLACE_OF_THE_FILE)
def test_what_stands_in_place_of_the_file(course, make, words):
    assert_fails(course, make, words)
    assert course.check("status", status=0).stderr == ""


@pytest.mark.parametrize(("make", "words"), WHAT_IT_DOES.values(), ids=WHAT_IT_DOES)
def test_what_the_file_does(course, monkeypatch, make, words):
    monkeypatch.setenv("COURSE_QUIET_SECONDS", "2")  # instead of 10
    assert_fails(course, make, words)


def assert_fails(course, make, words):
    make(course.path("w01"))
    run = course.check("w01", status=1)
    said = run.stdout.replace(f"| {FAKE}", "")
    assert run.stderr == ""
    assert words in " ".join(said.split()), said
    assert "Pass (" not in said
    assert "timed out" not in said or re.search(r"line \d+: while True: pass", said)
    record = json.loads(course.check("w01", "--json").stdout)
    jsonschema.validate(record, SCHEMA)
    assert record["verdict"] == "fail"
    sentences = [*record["said"], *(f"{why['about']}: {why['sentence']}" for why in record["explanations"])]
    assert words in " ".join([*sentences, *(row["sentence"] for row in record["rows"])])


#: What is printed -> the last line that is shown of it.
OUTPUT = {
    "100 MB in a line": ("print('x' * 100_000_000)", f"  | {'x' * 10_000} … (99,990,000 more bytes)"),
    "100 MB in lines": ("print(('x' * 99 + '\\n') * 1_000_000)", "  | … and 999,801 more lines"),
    "no end of line": ("print('hello', end='')", "  | hello"),
    "200 lines": ("print('hello\\n' * 199)", "  | hello"),
}


@pytest.mark.parametrize(("printing", "last"), OUTPUT.values(), ids=OUTPUT)
def test_output_of_any_length_is_shown_or_said_to_be_cut(course, printing, last):
    at_import(printing)(course.path("w01"))
    run = course.check("w01", status=0)
    assert last in run.stdout.splitlines()
    assert len(run.stdout) < 3_000_000
    assert ("…" in run.stdout) == ("…" in last)


def test_an_error_of_the_check_itself_is_no_failure_of_the_file(course):
    course.write("w03")
    recorded = course.root / "tests" / "references" / "warmup_03.npz"
    recorded.write_bytes(b"damaged")
    run = course.check("w03", status=1)
    assert "No verdict: the check itself failed (ValueError: " in run.stdout
    assert "It isn't your file; please report it." in run.stdout
    assert "Look for" not in run.stdout


def test_what_it_printed_before_its_end_is_heard_after_it(course):
    at_import("print('hello')")(course.path("w01"))
    with Child() as child:
        events = child.run(Job(step="warmup_01", source=course.path("w01").read_text(), path="steps/warmup_01.py"))
        next(events)
        child.worker.process.wait()
        assert "hello" in [event.text for event in events if isinstance(event, Printed)]


@pytest.mark.parametrize("step", ["s12", "w03"])
def test_a_file_may_import_earlier_solutions_and_max_where_the_step_does_not(course, monkeypatch, tmp_path, step):
    """As the source tutorial's step 12 does; nor does it matter what else is on the path, or told to pytest."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "--collect-only")
    monkeypatch.setenv("PYTEST_PLUGINS", "no_such_plugin")
    (tmp_path / "foreign.py").write_text("import sys\nsys._getframe()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    imports = "import foreign\nimport numpy as np\nfrom max import nn, graph\n"
    course.write(step, edits={"import numpy as np\n": imports})
    course.check(step, "--no-compile", status=0)


def test_a_pass_is_a_pass_even_if_it_cannot_be_kept(course):
    """As in a checkout that is read-only, which this user may write to."""
    course.write("w01")
    (course.root / ".course").write_text("in the way")
    run = course.check("w01", status=0)
    assert "(Progress was not saved: .course/progress.json cannot be written, " in run.stdout
    assert "Pass (" in run.stdout


@pytest.mark.parametrize("call", ["w01 --seed -1", "grade --steps w01 --seed -1", "w01 --seed one", "w01 --device tpu"])
def test_a_call_that_cannot_be_carried_out_leaves_the_pass(course, call):
    course.write("w01")
    course.check("w01", status=0)
    done = course.check(*call.split(), status=2)
    option, value = call.split()[-2:]
    assert re.search(f"Error: Invalid value for '{option}': .*{value}.* is not ", done.stderr)
    assert "  w01  done" in course.check("status").stdout
