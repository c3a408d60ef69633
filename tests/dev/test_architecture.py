"""What import-linter cannot see: what an import must not do."""

import os
import subprocess
import sys

from checker.course.paths import ROOT

SCRIPT = """
import importlib, os, signal
from max.engine import InferenceSession
from max.experimental import executor
def state():
    default = executor._default_executor.get(None) if hasattr(executor, "_default_executor") else None
    hooked = (InferenceSession.compile_reusing_mefs, InferenceSession.init_all, default)
    return (*hooked, signal.getsignal(signal.SIGINT), dict(os.environ))
before = state()
for name in ("checker.max_adapter.runtime", "checker.max_adapter.kernels", "checker.max_adapter.graphs",
             "checker.claims.modules", "play.engine", "play.attention_weights"):
    importlib.import_module(name)
assert state() == before
from checker.max_adapter.runtime import prepare
prepare()
assert state() != before
print("done")
"""


def test_no_import_patches_max():
    """Only ``prepare()`` changes how MAX runs, and how this process takes Ctrl-C."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr
