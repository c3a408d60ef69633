"""No import patches MAX; without a hook into MAX, operations are right, and ``doctor`` says what does not fit.

Each in a process of its own: here the hooks are in place already.
"""

import pytest

from checker.course.steps import ROOT
from tools.course_copy import python

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
             "checker.claims.modules", "play.engine", "play.attention_weights"):
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


def test_no_import_patches_max():
    """Only ``install_hooks()`` changes how MAX runs, and how this process takes Ctrl-C."""
    python(ROOT, "-c", IMPORTS, status=0)


@pytest.mark.slow
def test_a_hook_that_does_not_fit_is_said():
    """That all of them fit, ``test_try_max.py`` says."""
    printed = python(ROOT, "-c", LACKING, status=1).stdout
    assert printed.startswith("The hook for operations does not fit this MAX (")
