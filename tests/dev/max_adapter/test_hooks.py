"""Without a hook into MAX, operations are right, and ``doctor`` says what does not fit."""

import os
import subprocess
import sys

import pytest

from checker.course.paths import ROOT

COMMAND = """
import sys
{lacking}
import runpy
runpy.run_module("checker.max_adapter.contract", run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lacking", "status", "words"),
    [
        ("", 0, "all hooks into MAX fit"),
        (
            "from max.graph import KernelLibrary; del KernelLibrary.verify_custom_op",
            1,
            "The hook for operations does not fit this MAX (",
        ),
        ("sys.modules['max.experimental'] = None", 2, "is installed, but it cannot be imported"),
    ],
)
def test_a_hook_that_does_not_fit_is_said(lacking, status, words):
    """In a process of its own: here the hooks are in place already."""
    environment = dict(os.environ)  # else a child gets what MAX's libraries set behind Python's back, and no .venv
    command = [sys.executable, "-c", COMMAND.format(lacking=lacking)]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == status, run.stdout + run.stderr
    assert words in run.stdout.splitlines()[0]
