"""The command that checks a step: what is imported once its child runs, and what a call that is refused leaves."""

import re

import pytest
from click.testing import CliRunner

from checker.files import ROOT
from cli.main import main
from cli.shared import programs
from tools.course_copy import python

SCRIPT = """
import sys
import cli.check
print(*{"checker.parent.check", "checker.parent.printer", "checker.terminal", "rich"} & {*sys.modules})
"""


def test_what_drives_and_shows_a_check_is_not_imported_before_its_child_is_started():
    assert python(ROOT, "-c", SCRIPT, status=0).stdout == "\n"


def test_a_function_that_is_not_there_is_refused_before_max_is_asked_for_a_device(monkeypatch):
    def require_gpu():
        pytest.fail("MAX is asked")

    monkeypatch.setattr(programs, "require_gpu", require_gpu)
    run = CliRunner().invoke(main, ["s07", "--device", "gpu", "--show", "nothing"])
    assert run.exit_code == 2
    assert "there is no function nothing to show; choose from " in run.output


@pytest.mark.parametrize("call", ["w01 --seed -1", "grade --steps w01 --seed -1", "w01 --seed one", "w01 --device tpu"])
def test_a_call_that_cannot_be_carried_out_leaves_the_pass(course, call):
    course.write("w01")
    course.check("w01", status=0)
    done = course.check(*call.split(), status=2)
    option, value = call.split()[-2:]
    assert re.search(f"Error: Invalid value for '{option}': .*{value}.* is not ", done.stderr)
    assert "  w01  done" in course.check("status").stdout
