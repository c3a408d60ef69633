"""``--json``: the verdict as one object, the same as the terminal's; of what is no pass, see ``test_bad_input.py``."""

import json
import re

import jsonschema
import pytest

from checker.course.steps import find_step
from tests.dev.session.test_bad_input import SCHEMA

MISTAKE = "The heads are merged without being transposed back"


def checked(course, *arguments):
    """Return the object that a check prints, and nothing beside it, and its exit status."""
    done = course.check("w05", "--json", *arguments)
    assert done.stderr == ""
    verdict = json.loads(done.stdout)
    jsonschema.validate(verdict, SCHEMA)
    return verdict, done.returncode


def test_a_pass_and_one_without_the_compiled_verdict(course):
    course.write("w05")
    verdict, status = checked(course, "--seed", "7")
    assert (verdict["verdict"], status, verdict["complete"], verdict["seed"]) == ("pass", 0, True, 7)
    assert {row["verdict"] for row in verdict["rows"]} == {"pass"}
    assert verdict["explanations"] == []
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
