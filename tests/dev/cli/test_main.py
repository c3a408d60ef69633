"""Where ``./run`` finds a command, and what it imports for that."""

import pytest

from checker.files import ROOT
from tools.course_copy import python

SCRIPT = """
import sys
from cli.main import main
main([sys.argv[1], "--help"], standalone_mode=False)
print(*sys.modules, file=sys.stderr)
"""
WITH_COMMANDS = {"cli.check", "cli.course_commands", "cli.model_commands"}
TO_RUN = {"max", "numpy", "play.generation.generate", "pytest", "rich"}  # what a command does without until it runs


@pytest.mark.parametrize(
    ("named", "module"),
    [("s07", "cli.check"), ("hint", "cli.course_commands"), ("generate", "cli.model_commands")],
)
def test_a_command_imports_no_other_and_only_the_finished_models_import_it(named, module):
    loaded = {*python(ROOT, "-c", SCRIPT, named, status=0).stderr.split()}
    assert loaded & (WITH_COMMANDS | TO_RUN) == {module}
    assert ("play" in loaded) == (module == "cli.model_commands")


def test_ctrl_c_while_the_reader_of_arguments_is_imported_is_no_traceback(tmp_path):
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt")
    done = python(ROOT, "-m", "cli", "hint", "07", status=130, PYTHONPATH=str(tmp_path))
    assert done.stderr == ""
