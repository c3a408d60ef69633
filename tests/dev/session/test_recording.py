"""``--json``: the verdict as one object, the same as the terminal's, for every way in which a check may end."""

import json
import re
import signal
import subprocess
import sys
import time

import jsonschema
import pytest

from checker.course.blanks import find_blanks
from checker.course.paths import ROOT
from checker.course.steps import find_step

SCHEMA = json.loads((ROOT / "checker" / "session" / "verdict.schema.json").read_text())
MISTAKE = "The heads are merged without being transposed back"


def checked(course, *arguments):
    """Return the object that a check prints, and nothing beside it, and its exit status."""
    done = course.check("w05", "--json", *arguments)
    assert done.stderr == ""
    verdict = json.loads(done.stdout)
    jsonschema.validate(verdict, SCHEMA)
    return verdict, done.returncode


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_an_untouched_skeleton(course):
    verdict, status = checked(course)
    assert (verdict["verdict"], status, verdict["complete"], verdict["seed"]) == ("fail", 1, False, None)
    blanks = find_blanks(find_step("w05").solution_file.read_text())
    assert [(row["verdict"], row["about"]) for row in verdict["rows"]] == [("todo", one.label) for one in blanks]
    lines = (course.root / "steps" / "warmup_05.py").read_text().splitlines()
    for row in verdict["rows"]:
        assert lines[row["line"] - 1].strip() == "raise NotImplementedError"


def test_a_pass(course):
    course.write("w05")
    verdict, status = checked(course, "--seed", "7")
    assert (verdict["verdict"], status, verdict["complete"], verdict["seed"]) == ("pass", 0, True, 7)
    assert {row["verdict"] for row in verdict["rows"]} == {"pass"}
    assert verdict["explanations"] == []


def test_a_pass_without_the_compiled_verdict_is_not_complete(course):
    done = course.check("s02", "--solution", "--json", "--no-compile")
    verdict = json.loads(done.stdout)
    assert (verdict["verdict"], verdict["complete"], verdict["file"]) == ("pass", False, "solutions/solution_02.py")


@pytest.mark.slow
def test_a_mistake_is_named_at_its_line_and_has_numbers_to_show(course):
    course.spoil("w05", MISTAKE)
    verdict, status = checked(course)
    assert status == 1
    (why,) = verdict["explanations"]
    assert why["sentence"].startswith(MISTAKE)
    assert why["numbers"]
    assert why["line"] == course.line_of("w05", f"def {why['about']}(")
    shown, _ = checked(course, "--show", why["about"])
    assert shown["shown"]
    terminal = re.sub(r"\s+", " ", course.check("w05", "--seed", str(verdict["seed"])).stdout)
    for row in verdict["rows"]:
        assert f"{row['verdict']} {row['about']} {row['sentence']}" in terminal


def test_an_error_has_its_line(course):
    course.write("w05", find_step("w05").solution_file.read_text() + "\nprint('<b>')\n1 / 0\n")
    verdict, _ = checked(course)
    assert verdict["printed"] == ["<b>"]
    assert verdict["explanations"][0]["line"] == course.line_of("w05", "1 / 0")
    assert verdict["rows"][0]["sentence"] == "The file can be imported."


def test_a_file_that_is_no_python_has_its_line(course):
    course.write("w05", "x = 1\ny = (\n")
    verdict, status = checked(course)
    assert status == 1
    assert [row["line"] for row in verdict["rows"]] == [2]
    assert verdict["explanations"][0]["where"] == ["y = (", "    ^"]


def test_a_file_that_is_missing(course):
    (course.root / "steps" / "warmup_05.py").unlink()
    verdict, status = checked(course)
    assert status == 1
    assert verdict["said"] == ["The file is missing. `./run skeletons` writes it anew."]


@pytest.mark.slow
def test_ctrl_c_ends_in_an_object_too(course):
    course.write("w05", find_step("w05").solution_file.read_text() + "\nprint('now', flush=True)\nwhile True: pass\n")
    running = subprocess.Popen(
        [sys.executable, "-m", "cli", "w05", "--json"], cwd=course.root, stdout=subprocess.PIPE, text=True
    )
    time.sleep(3)
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=20)
    verdict = json.loads(said)
    jsonschema.validate(verdict, SCHEMA)
    assert (verdict["verdict"], running.returncode) == ("interrupted", 130)
