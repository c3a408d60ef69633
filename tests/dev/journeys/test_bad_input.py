"""Whatever stands where a learner's file should be, and whatever it does: no pass, and a sentence on what to do."""

import json
import os
import re

import jsonschema
import pytest

from tests.dev.helpers.checks import SCHEMA
from tests.dev.helpers.commands import states

ANSWER = "Your file imports solutions.warmup_01, the answer to this step."
TIMED_OUT = "No verdict: timed out after 2 s during this claim: "
FAKE = "Pass (0.1 s). Compare with solutions/warmup_01.py."
IMPORT, SCORES = "import numpy as np\n", "return query @ np.swapaxes(key, -2, -1)"


ODD = "Odd = type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})"


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
    "UTF-16": (written("x = 1".encode("utf-16")), "not UTF-8 text: it is UTF-16, as PowerShell writes it. Save it as"),
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
    "kills its group": (at_import("import os, signal; os.killpg(0, signal.SIGKILL)"), "was ended by SIGKILL while"),
    "aborts": (at_import("import os; os.abort()"), "the process was ended by SIGABRT while the file was loaded."),
    "waits for an answer": (at_import("input('who? ')"), "RuntimeError: a check has no keyboard. Write "),
    "input": (while_scoring("input('who? ')"), "attention_scores: RuntimeError: a check has no keyboard. Write "),
    "a breakpoint": (while_scoring("breakpoint()"), "attention_scores: RuntimeError: a check has no debugger. Use "),
    "a debugger": (while_scoring("import pdb; pdb.set_trace()"), "attention_scores: RuntimeError: a check has no "),
    "factors in the wrong order at import": (at_import("x, w = np.ones((2, 3)), np.eye(2)\nx @ w"), "fits: w @ x."),
    "an error without words at import": (at_import(f"{ODD}; raise Odd"), "Odd: its __str__ raises ZeroDivisionError,"),
    "an error without words": (while_scoring(f"{ODD}; raise Odd"), "attention_scores: Odd: its __str__ raises "),
    "a generator": (while_scoring("yield 1"), "is a generator, where one tensor is expected. Write `return` instead"),
    "a coroutine": (
        lambda path: path.write_text(solution(path).replace("def attention_scores", "async def attention_scores")),
        "is a coroutine, where one tensor is expected. Remove `async` in front of `def`.",
    ),
    "a fake verdict": (at_import(f"print({FAKE!r}, flush=True); import os; os._exit(0)"), "the process ended while"),
    "a loop at import": (at_import("while True: pass"), "timed out after 2 s while the file was loaded."),
    "a loop beside another thread": (
        at_import("import threading, time; threading.Thread(target=lambda: time.sleep(60)).start()\nwhile True: pass"),
        "timed out after 2 s while the file was loaded.",
    ),
    "the answer, imported": (written("from solutions.warmup_01 import *\n\ndef attention_scores(): ...\n"), ANSWER),
    "the answer, imported from its folder": (at_import("from solutions import warmup_01"), ANSWER),
    "exit": (while_scoring("import sys; sys.exit(0)"), "attention_scores: Your code ends the program"),
    "os._exit": (while_scoring("import os; os._exit(0)"), "No verdict: the process ended during this claim: "),
    "an endless loop": (lambda path: path.write_text(solution(path).replace(SCORES, "while True: pass")), TIMED_OUT),
    "an interrupt": (while_scoring("raise KeyboardInterrupt"), "attention_scores: KeyboardInterrupt"),
    "the end of pytest": (while_scoring("import pytest; pytest.exit('done')"), "attention_scores: Exit"),
    "a claim that is skipped": (while_scoring("import pytest; pytest.skip('done')"), "attention_scores: Skipped"),
}


@pytest.mark.spread
@pytest.mark.parametrize(("make", "words"), IN_PLACE_OF_THE_FILE.values(), ids=IN_PLACE_OF_THE_FILE)
def test_what_stands_in_place_of_the_file(course, make, words):
    assert_fails(course, make, words)
    status = states(course)["w01"]
    assert ("not Python" in status) is status.endswith(", last check: fail)"), status


@pytest.mark.spread
@pytest.mark.parametrize(("make", "words"), WHAT_IT_DOES.values(), ids=WHAT_IT_DOES)
def test_what_the_file_does(course, monkeypatch, make, words):
    monkeypatch.setenv("COURSE_QUIET_SECONDS", "2")  # instead of 10
    checks = assert_fails(course, make, words)
    may_be_another_fault = ["Other programs have the processor" in said or "SIGKILL" in said for said in checks]
    assert ("last check: fail" in states(course)["w01"]) is not all(may_be_another_fault)


def assert_fails(course, make, words):
    """Check the file twice, since a machine may be busy in one of the checks; return what each said."""
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
    said_again = " ".join([*sentences, *(row["sentence"] for row in record["rows"])])
    assert words in said_again
    return said, said_again
