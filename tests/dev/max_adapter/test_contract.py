"""The hooks fit the installed MAX, and what does not fit another is told."""

import os
import subprocess
import sys

import pytest

from checker.course.paths import ROOT

COMMAND = """
import runpy, sys
{lacking}
runpy.run_module("checker.max_adapter.contract", run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lacking", "status", "words"),
    [
        ("", 0, ["all hooks into MAX fit"]),
        (
            "import max.experimental.executor as executor; del executor.UnsupportedGraphError\n"
            "from max._interpreter_ops import gc_compile; gc_compile.compile_single_target = lambda family: None",
            1,
            [
                "The hook for interpreter does not fit this MAX (",
                "The hook for kernels does not fit this MAX (TypeError: ",
            ],
        ),
        ("sys.modules['max.experimental'] = None", 2, ["is installed, but it cannot be imported"]),
    ],
)
def test_the_installed_max_keeps_the_contract(lacking, status, words):
    """In a process of its own: here the hooks are in place already."""
    environment = dict(os.environ)  # else a child gets what MAX's libraries set behind Python's back, and no .venv
    command = [sys.executable, "-c", COMMAND.format(lacking=lacking)]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == status, run.stdout + run.stderr
    assert [line for line in words if line not in run.stdout] == [], run.stdout
