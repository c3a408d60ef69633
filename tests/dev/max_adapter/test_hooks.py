"""Without any of the hooks into MAX, operations are right, and ``doctor`` says what does not fit."""

import os
import subprocess
import sys

import pytest

from checker.course.paths import ROOT

#: What another MAX might lack → the hook that does not fit it then.
LACKING = {
    "from max._interpreter_ops import gc_compile; gc_compile.compile_single_target = lambda family: None": "kernels",
    "from max.engine import InferenceSession; InferenceSession.init_all = lambda session: None": "graphs",
    "from max.experimental import executor; del executor.InterpreterExecutor": "interpreter",
    "from max.graph import KernelLibrary; del KernelLibrary.verify_custom_op": "operations",
    "from max.experimental import _passes; _passes.add_input = lambda graph: None": "inputs",
    "from max.engine import Model; del Model._execute_device_tensors": "sleep",
    "import signal; signal.signal = lambda number: None": "interrupts",
}
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
        *((lacking, 1, f"The hook for {hook} does not fit this MAX (") for lacking, hook in LACKING.items()),
        ("sys.modules['max.experimental'] = None", 2, "is installed, but it cannot be imported"),
    ],
)
def test_a_hook_that_does_not_fit_is_said(lacking, status, words):
    """In a process of its own: here the hooks are in place already. What MAX lacks may break its operations, too."""
    environment = dict(os.environ)  # else a child gets what MAX's libraries set behind Python's back, and no .venv
    command = [sys.executable, "-c", COMMAND.format(lacking=lacking)]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == status, run.stdout + run.stderr
    assert words in run.stdout.splitlines()[0]
