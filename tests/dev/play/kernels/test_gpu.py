"""The kernel for a GPU, compiled for two without having one: MAX takes a virtual device, and keeps the machine code."""

import subprocess
import sys

import pytest

from checker.course.paths import ROOT

COMPILE = """
import os, sys
from max import driver
api, architecture, file = sys.argv[1:]
driver.set_virtual_device_api(api)
driver.set_virtual_device_target_arch(architecture)
driver.set_virtual_device_count(1)
from max.dtype import DType
from max.engine import InferenceSession
from max.experimental.nn import Module
from max.graph import DeviceRef, TensorType
from play.kernels.operations import causal_attention, loaded

class Attention(Module):
    def forward(self, query, key, value, starts):
        return causal_attention(query, key, value, starts)

ref = DeviceRef.GPU()
types = [TensorType(DType.float32, ["batch", 12, axis, 64], ref) for axis in ("seq", "total", "total")]
with loaded():
    staged = Attention().trace(*types, TensorType(DType.int32, ["batch"], ref))
InferenceSession([driver.CPU(), driver.Accelerator()]).compile(staged.graph).export_mef(file)
os._exit(0)  # MAX's own end aborts: there is no device to let go of
"""


@pytest.mark.nightly
@pytest.mark.parametrize(("api", "architecture"), [("cuda", "sm_90a"), ("hip", "gfx942")])
def test_it_compiles_for_a_gpu(api, architecture, tmp_path):
    file = tmp_path / "attention.mef"
    command = [sys.executable, "-c", COMPILE, api, architecture, str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"kernels_gpu_attend_thread" in file.read_bytes()
