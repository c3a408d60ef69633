"""Where ``./run`` finds a command, and what a call that cannot be carried out leaves as it was."""

import re

import pytest
from click.testing import CliRunner

from checker.files import ROOT
from cli.main import main
from cli.shared import programs
from tools.course_copy import python

TO_PARSE = {"cli", "cli.main", "cli.shared", "cli.shared.command_line"}
SCRIPT = """
import sys
from cli.main import main
main([sys.argv[1], "--help"], standalone_mode=False)
print(*(name for name in sys.modules if name.partition(".")[0] in ("cli", "play")), file=sys.stderr)
"""


@pytest.mark.parametrize("named", ["s07", "07", "step_07", "step"])
def test_a_check_imports_no_other_command(named):
    assert {*python(ROOT, "-c", SCRIPT, named, status=0).stderr.split()} == TO_PARSE


def test_a_command_is_imported_alone_and_only_the_finished_models_import_it():
    assert {*python(ROOT, "-c", SCRIPT, "hint", status=0).stderr.split()} == TO_PARSE | {"cli.course_commands"}
    loaded = {*python(ROOT, "-c", SCRIPT, "generate", status=0).stderr.split()}
    assert {name for name in loaded if name.startswith("cli")} == TO_PARSE | {"cli.model_commands"}
    assert "play.generation.generate" not in loaded, "which is imported when it runs"


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
