"""Without any one of the hooks into MAX, checks are right, and say once that they are slower."""

import json
import os
import re
import subprocess
import sys

import pytest

from checker.course.paths import ROOT
from checker.max_adapter import runtime

pytestmark = pytest.mark.slow

#: What another MAX might lack → the hook that does not fit it then.
LACKING = {
    "from max._interpreter_ops import gc_compile; del gc_compile.registered_families": "kernels",
    "from max._interpreter_ops import gc_compile; gc_compile.compile_single_target = lambda family: None": "kernels",
    "from max.engine import InferenceSession; InferenceSession.init_all = lambda session: None": "graphs",
    "from max.engine import InferenceSession; del InferenceSession.compile_reusing_mefs": "graphs",
    "from max.experimental import executor; del executor.InterpreterExecutor": "interpreter",
    "from max import _interpreter; del _interpreter._is_interpretable_custom": "products",
    "from max.graph import KernelLibrary; del KernelLibrary.verify_custom_op": "products",
    "from max._interpreter_ops.handlers import _MO_OP_HANDLERS as known, mo; del known[mo.GatherNdOp]": "gathers",
    "from max.engine import Model; del Model._execute_device_tensors": "sleep",
    "import signal; signal.signal = lambda number: None": "interrupts",
    "import importlib.util; importlib.util.find_spec = lambda name: None": "imports",
    "from max.experimental import _passes; _passes.add_input = lambda graph: None": "inputs",
    "from max.experimental import _passes; del _passes.add_input": "inputs",
}
GRADE = """
import sys
{lacking}
import json
from checker.max_adapter import runtime
runtime.prepare()
import numpy as np
{check}
print(json.dumps(runtime.notices))
"""
ADD = """
from max.experimental import functional as F
one = runtime.tensor(np.ones([1, 1], np.float32))
with F.lazy():
    two = one + one
assert np.from_dlpack(two) == 2
"""
STEP_08 = """
import pytest
status = pytest.main(["-q", "-p", "checker.claims.plugin", "--no-compile", "tests/test_step_08.py"])
assert status == 0, status
"""


def notices(lacking: str, check: str) -> list[str]:
    command = [sys.executable, "-c", GRADE.format(lacking=lacking, check=check)]
    environment = dict(os.environ)  # else a child gets what MAX's libraries set behind Python's back, and no .venv
    said = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    return json.loads(said.stdout.splitlines()[-1])


def test_with_all_hooks_there_is_nothing_to_say():
    assert notices("", ADD) == []


@pytest.mark.parametrize(("lacking", "hook"), LACKING.items())
def test_a_hook_that_does_not_fit_is_said_once(lacking, hook):
    (notice,) = notices(lacking, "")
    assert notice.startswith(f"The hook for {hook} does not fit this MAX (")
    assert notice.endswith("The verdict is the same.")


@pytest.mark.parametrize(
    ("lacking", "hooks"),
    [
        ("sys.modules['max._interpreter_ops'] = None", ["kernels", "products", "gathers"]),
        ("from max._interpreter_ops import handlers; del handlers._MO_OP_HANDLERS", ["products", "gathers"]),
    ],
)
def test_hooks_that_lack_the_same_place_are_all_said(lacking, hooks):
    found = notices(lacking, "")
    assert [re.match("The hook for ([a-z]+) does not fit", notice)[1] for notice in found] == hooks


def test_each_hook_is_removed_by_one_of_these():
    assert set(LACKING.values()) == {hook.name for hook in runtime.HOOKS}


@pytest.mark.slow
@pytest.mark.parametrize(
    "broken",
    [
        "from checker.max_adapter import kernels; kernels.RECORDED_KERNELS = None",
        pytest.param("from checker.max_adapter import kernels; kernels.cache_path = None", marks=pytest.mark.nightly),
    ],
)
def test_recorded_kernels_that_cannot_be_loaded_are_compiled_as_max_does(broken):
    (notice,) = notices(broken, ADD)
    assert notice.startswith("The hook for kernels does not fit this MAX (")


REMOVE = """
import dataclasses
from checker.max_adapter import runtime
def fail(lost): raise AttributeError("removed")
runtime.HOOKS = [dataclasses.replace(one, install=fail) if one.name == {hook!r} else one for one in runtime.HOOKS]
"""


@pytest.mark.nightly
@pytest.mark.parametrize("hook", [hook.name for hook in runtime.HOOKS])
def test_step_08_is_right_without_a_hook(hook):
    (notice,) = notices(REMOVE.format(hook=hook), STEP_08)
    assert notice.startswith(f"The hook for {hook} does not fit this MAX (AttributeError: removed), so ")
