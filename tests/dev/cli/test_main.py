"""Where ``./run`` finds a command, and what it imports for that."""

import pytest

from checker.files import ROOT
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
    assert {*python(ROOT, "-c", SCRIPT, named, status=0).stderr.split()} == TO_PARSE | {"cli.check"}


def test_a_command_is_imported_alone_and_only_the_finished_models_import_it():
    assert {*python(ROOT, "-c", SCRIPT, "hint", status=0).stderr.split()} == TO_PARSE | {"cli.course_commands"}
    loaded = {*python(ROOT, "-c", SCRIPT, "generate", status=0).stderr.split()}
    assert {name for name in loaded if name.startswith("cli")} == TO_PARSE | {"cli.model_commands"}
    assert "play.generation.generate" not in loaded, "which is imported when it runs"


def test_ctrl_c_while_the_reader_of_arguments_is_imported_is_no_traceback(tmp_path):
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt")
    done = python(ROOT, "-m", "cli", "hint", "07", status=130, PYTHONPATH=str(tmp_path))
    assert done.stderr == ""
