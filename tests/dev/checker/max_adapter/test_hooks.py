"""No import patches MAX; without a hook into MAX, operations are right, and ``doctor`` says what does not fit.

Where it says so, in a process of its own: here the hooks are in place already.
"""

import sys
from contextlib import suppress

import numpy as np
import pytest
from max.dtype import DType
from max.experimental import executor
from max.experimental import functional as F

from checker.claims.modules import run
from checker.compiling import Listener
from checker.files import ROOT
from cli import doctor
from tools.course_copy import python

X = np.random.RandomState(0).standard_normal((2, 3)).astype(np.float32)

IMPORTS = """
import importlib, os, signal
from max.engine import InferenceSession
from max.experimental import executor
def state():
    default = executor._default_executor.get(None) if hasattr(executor, "_default_executor") else None
    hooked = (InferenceSession.compile_reusing_mefs, InferenceSession.init_all, default)
    return (*hooked, signal.getsignal(signal.SIGINT), dict(os.environ))
before = state()
for name in ("checker.max_adapter.runtime", "checker.max_adapter.hooks", "checker.max_adapter.graph_store",
             "checker.claims.modules", "play.generation.engine", "play.attention.weights"):
    importlib.import_module(name)
assert state() == before
from checker.max_adapter.hooks import install_hooks
install_hooks()
assert state() != before
"""
LACKING = """
import runpy
from max.graph import KernelLibrary
del KernelLibrary.verify_custom_op
runpy.run_module("checker.max_adapter.try_hooks", run_name="__main__")
"""

NOT_RUNNING = """
import runpy
from checker.max_adapter import hooks, runtime
hooks.install_hooks = lambda: None
hooks.notices.append("A hook is lost.")
runtime.start_threads = lambda: 1 / 0
runpy.run_module("checker.max_adapter.try_hooks", run_name="__main__")
"""


def test_no_import_patches_max():
    """Only ``install_hooks()`` changes how MAX runs, and how this process takes Ctrl-C."""
    python(ROOT, "-c", IMPORTS, status=0)


@pytest.mark.slow
def test_a_hook_that_does_not_fit_is_said():
    """That all of them fit, ``test_try_max.py`` says."""
    printed = python(ROOT, "-c", LACKING, status=1).stdout
    assert printed.startswith("The hook for operations does not fit this MAX (")


@pytest.mark.slow
def test_an_operation_that_ends_with_an_error_has_an_exit_status_of_its_own():
    printed = python(ROOT, "-c", NOT_RUNNING, status=doctor.CANNOT_RUN).stdout
    assert printed == (
        "An operation ends with ZeroDivisionError (division by zero): no check that runs MAX works.\nA hook is lost.\n"
    )


def test_what_the_interpreter_refuses_is_compiled_and_said_to_be(monkeypatch, pytestconfig):
    events = []
    listener = Listener(lambda name, compiler: None, lambda name, seconds, error: events.append((name, seconds)))
    monkeypatch.setattr("checker.compiling.listeners", [listener])
    if not pytestconfig.option.nightly:  # MAX's compiler takes a minute
        monkeypatch.setattr(executor.CompilingExecutor, "execute", lambda *_: 1 / 0)
    with suppress(ZeroDivisionError):
        np.from_dlpack(run(F.argsort, X[0]))
    assert any("cannot run" in what and seconds for what, seconds in events)


@pytest.mark.parametrize("dtype", [DType.bfloat16, DType.float16])
def test_numbers_of_16_bits_are_refused_before_anything_is_compiled(dtype):
    with pytest.raises(TypeError, match="right to 3 digits"):
        np.from_dlpack(run(lambda x: x.cast(dtype).cast(DType.float32), X))


IDLE = """
import ctypes, pathlib, re, time
from checker.max_adapter import hooks, runtime
hooks.install_hooks()
slack = ctypes.CDLL(None).prctl(30, 0, 0, 0, 0)
runtime.start_threads()
def wakeups():
    statuses = (task.read_text() for task in pathlib.Path("/proc/self/task").glob("*/status"))
    return sum(int(re.search(r"^voluntary_ctxt_switches:\\s+(\\d+)", text, re.M)[1]) for text in statuses)
before = wakeups()
time.sleep(0.5)
print(wakeups() - before, slack == ctypes.CDLL(None).prctl(30, 0, 0, 0, 0))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the threads of this system cannot be told to sleep longer")
def test_the_threads_of_max_sleep_while_nothing_runs_and_only_they():
    """MAX alone wakes up two to three thousand times in that half second."""
    wakeups, as_before = python(ROOT, "-c", IDLE, status=0).stdout.split()
    assert int(wakeups) < 300
    assert as_before == "True"
