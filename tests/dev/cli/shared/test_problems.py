"""``--problems`` and ``--github``: each failure at its line, in an editor and on GitHub, whatever a step prints."""

import json
import re

import pytest

from checker.files import ROOT
from cli.shared.problems import Problem, problems_of

pytestmark = pytest.mark.slow

MISTAKE = "The heads are merged without being transposed back"
TASKS = json.loads((ROOT / ".vscode" / "tasks.json").read_text())["tasks"]
#: What a runner of GitHub obeys if it comes in a line of output: also behind other text, in the older form.
EVIL = "::error::fake", "  ::add-mask::a", "##[error]fake", "::stop-commands::x"


def test_a_problem_is_one_line_as_editors_and_github_read_it():
    hard = Problem("steps/a,b:c%3A.py", 7, "f:g,h", "100 %\r\n::error::, : %0A")
    where = "file=steps/a%2Cb%3Ac%253A.py,line=7,title=f%3Ag%2Ch"
    assert hard.for_github() == f"::error {where}::100 %25%0D%0A::error::, : %250A"
    line = Problem("steps/step_07.py", 3, "f", "a\n\x1b[31mb\t c").for_editors()
    assert line == "steps/step_07.py:3: error: f: a [31mb c"


def test_a_mistake_is_at_its_line_in_an_editor_and_on_github_which_obeys_nothing_that_a_step_prints(course):
    (matcher, *others) = [task["problemMatcher"] for task in TASKS if task["problemMatcher"]]
    assert all(other == matcher for other in others)
    pattern = matcher["pattern"]
    course.spoil("w05", MISTAKE)
    done = course.check("step", "warmup_05", "--problems", status=1)
    (problem,) = [match for line in done.stdout.splitlines() if (match := re.search(pattern["regexp"], line))]
    assert (course.root / problem[pattern["file"]]).is_file()
    name, _, sentence = problem[pattern["message"]].partition(": ")
    assert sentence.startswith(MISTAKE)
    assert int(problem[pattern["line"]]) == course.line_of("w05", f"def {name}(")
    file = course.path("w05")
    file.write_text(f"{file.read_text()}\nfor line in {EVIL}: print(line)\n")
    begin, *shown, end, annotation = course.check("w05", "--github").stdout.splitlines()
    assert begin == f"::stop-commands::{end.strip(':')}"
    assert all(any(evil in line for line in shown) for evil in EVIL), "a log shows it"
    assert end not in shown
    where = f"file=steps/warmup_05.py,line={problem[pattern['line']]},title={name}"
    assert annotation == f"::error {where}::{sentence}"
    course.write("w05")
    assert "::error " not in course.check("w05", "--github").stdout, "a pass has no annotation"


def test_what_is_still_to_write_is_no_problem_and_a_file_that_cannot_be_read_is():
    row = {"mark": "todo", "about": "f", "sentence": "write", "line": 3}
    why = {"about": "f", "sentence": "wrong", "where": [], "line": None, "numbers": False}
    for parts, problems in (
        ({"rows": [row], "said": ["One blank is left."]}, []),
        ({"said": ["The file is missing.", "x"]}, [Problem("steps/step_07.py", 1, "", "The file is missing.")]),
        ({"rows": [row], "explanations": [why]}, [Problem("steps/step_07.py", 1, "f", "wrong")]),
        ({"verdict": "pass", "explanations": [why]}, []),
    ):
        verdict = {"verdict": "fail", "file": "steps/step_07.py", "rows": [], "explanations": [], "said": []}
        assert problems_of(verdict | parts) == problems
