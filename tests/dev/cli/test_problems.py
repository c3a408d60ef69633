"""``--problems`` and ``--github``: each failure at its line, in an editor and on GitHub, whatever a step prints."""

import json
import re

import pytest

from checker.course.paths import ROOT
from cli.problems import Problem, problems_of

pytestmark = pytest.mark.slow

MISTAKE = "The heads are merged without being transposed back"
TASKS = json.loads((ROOT / ".vscode" / "tasks.json").read_text())["tasks"]
MATCHERS = [task["problemMatcher"] for task in TASKS if task["problemMatcher"]]
#: What a runner of GitHub obeys if it comes in a line of output: also behind other text, in the older form.
EVIL = "::error::fake", "  ::add-mask::a", "##[error]fake", "::stop-commands::x"
HARD = Problem("steps/a,b:c%3A.py", 7, "f:g,h", "100 %\r\n::error::, : %0A ##[error]x")


def obeyed(lines):
    """What GitHub's runner obeys among some lines of output: properties and message of each command."""
    token, commands = None, []
    for line in lines:
        command = re.match(r"\s*::([\w-]+)(?: ([^:]*(?::[^:]+)*))?::(.*)$", line) or re.search(
            r"##\[([\w-]+)()\](.*)", line
        )
        if not command:
            continue
        name, properties, message = command.groups()
        if token and name != token:
            continue
        token = message if name == "stop-commands" else None
        if name in ("error", "add-mask"):
            pairs = dict(pair.split("=", 1) for pair in (properties or "").split(",") if pair)
            commands.append(({key: unescaped(value, ":,") for key, value in pairs.items()}, unescaped(message)))
    return commands


def unescaped(text, further=""):
    """As the runner does it: the percent sign last."""
    for letter in "\r\n" + further + "%":
        text = text.replace(f"%{ord(letter):02X}", letter)
    return text


def test_a_problem_is_one_line_as_editors_and_github_read_it():
    line = HARD.for_github()
    assert len(line.splitlines()) == 1
    assert obeyed([line]) == [({"file": HARD.file, "line": "7", "title": HARD.about}, HARD.sentence)]
    line = Problem("steps/step_07.py", 3, "f", "a\n\x1b[31mb\t c").for_editors()
    assert line == "steps/step_07.py:3: error: f: a [31mb c"


def test_a_mistake_is_at_its_line_in_an_editor_and_on_github_which_obeys_nothing_that_a_step_prints(course):
    (matcher, *others) = MATCHERS
    assert all(other == matcher for other in others)
    pattern = matcher["pattern"]
    course.spoil("w05", MISTAKE)
    done = course.check("step", "warmup_05", "--problems")
    assert done.returncode == 1
    (problem,) = [match for line in done.stdout.splitlines() if (match := re.search(pattern["regexp"], line))]
    assert (course.root / problem[pattern["file"]]).is_file()
    name, _, sentence = problem[pattern["message"]].partition(": ")
    assert sentence.startswith(MISTAKE)
    assert int(problem[pattern["line"]]) == course.line_of("w05", f"def {name}(")
    file = course.root / "steps" / "warmup_05.py"
    file.write_text(f"{file.read_text()}\nfor line in {EVIL}: print(line)\n")
    output = course.check("w05", "--github").stdout
    assert all(evil in output for evil in EVIL), "a log shows it"
    (annotation,) = obeyed(output.splitlines())
    where = {"file": "steps/warmup_05.py", "line": problem[pattern["line"]], "title": name}
    assert annotation == (where, sentence)
    course.write("w05")
    assert obeyed(course.check("w05", "--github").stdout.splitlines()) == [], "a pass has no annotation"


def verdict(**fields):
    return {"verdict": "fail", "file": "steps/step_07.py", "rows": [], "explanations": [], "said": [], **fields}


def test_what_is_still_to_write_is_no_problem_and_a_file_that_cannot_be_read_is():
    row = {"verdict": "todo", "about": "f", "sentence": "write", "line": 3}
    assert problems_of(verdict(rows=[row], said=["One blank is left."])) == []
    assert problems_of(verdict(said=["The file is missing.", "x"])) == [
        Problem("steps/step_07.py", 1, "", "The file is missing.")
    ]
    why = {"about": "f", "sentence": "wrong", "where": [], "line": None, "numbers": False}
    assert problems_of(verdict(rows=[row], explanations=[why])) == [Problem("steps/step_07.py", 1, "f", "wrong")]
    assert problems_of(verdict(verdict="pass", explanations=[why])) == []
