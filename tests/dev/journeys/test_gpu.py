"""A GPU that multiplies in TF32, imitated: graphs are interpreted, and every factor of a product is cut to 10 bits.

By night, a Llama is also compiled for a GPU that is not there.
"""

import numpy as np
import pytest
from max._interpreter_ops import matmul_gc
from max.driver import CPU, Buffer
from max.experimental.nn import Module

from checker.child.loading import load_source
from checker.child.selection import ClaimsToRun
from checker.child.session import run_claims
from checker.course.source import Source
from checker.course.steps import find_step
from checker.device import DeviceKind
from checker.diagnosis.mistakes import apply_edits
from checker.files import ROOT
from checker.max_adapter import runtime
from checker.stages import Mark, Stage
from tools.course_copy import python

pytestmark = pytest.mark.slow

COMPILE = Module.compile
DROPPED = np.int32(-1 << 13)  # a mask of the 13 bits of float32 that TF32 has not
#: Step 15 compiles an operation of MAX that its interpreter has not; the others multiply no matrices.
WITH_PRODUCTS = ["s04", "s07", "s08", "s09", "s10", "s11", "s17", "s18", "s19"]
AT_LENGTH = [pytest.param(task, marks=pytest.mark.nightly) for task in ("s14", "s20")]

COMPILE_LLAMA = """
import os, sys
from max import driver
api, architecture, file = sys.argv[1:]
driver.set_virtual_device_api(api)
driver.set_virtual_device_target_arch(architecture)
driver.set_virtual_device_count(1)
from max.dtype import DType
from max.engine import InferenceSession
from max.experimental import functional as F
from max.experimental.tensor import default_device, default_dtype
from max.graph import DeviceRef, TensorType
from solutions.caching import cache_type
from solutions.llama import LlamaForCausalLM
from solutions.llama_config import LlamaConfig

gpu = driver.Accelerator()
sizes = dict(vocab_size=300, hidden_size=36, intermediate_size=22, num_hidden_layers=1, head_dim=10)
config = LlamaConfig(max_position_embeddings=64, num_attention_heads=6, num_key_value_heads=2, **sizes)
with F.lazy(), default_device(gpu), default_dtype(DType.float32):
    model = LlamaForCausalLM(config)
ref = DeviceRef.from_device(gpu)
ids, padding_mask = TensorType(DType.int64, ["batch", "seq"], ref), TensorType(DType.float32, ["batch", "total"], ref)
graph = model.trace(ids, ids, padding_mask, cache_type(config.cache_config, gpu)).graph
InferenceSession([driver.CPU(), gpu]).compile(graph).export_mef(file)
os._exit(0)  # MAX's own end aborts: there is no device to let go of
"""


@pytest.fixture
def gpu(monkeypatch):
    """Return a function that runs the compiled claims of a step on a source, on the imitated GPU."""
    exact = matmul_gc.matmul_model

    def cut(factor):
        array = np.ascontiguousarray(np.from_dlpack(factor))
        is_float = array.dtype == np.float32
        return Buffer.from_dlpack((array.view(np.int32) & DROPPED).view(np.float32)) if is_float else factor

    def matmul_model(device, dtype):
        model = exact(device, dtype)
        return lambda left, right: model(cut(left), cut(right))

    monkeypatch.setattr(matmul_gc, "matmul_model", matmul_model)
    monkeypatch.setattr(Module, "compile", lambda module, *types: runtime.lazily()(module))
    monkeypatch.setattr(runtime, "accelerator_count", lambda: 1)
    monkeypatch.setattr(runtime, "Accelerator", CPU)
    monkeypatch.setattr(runtime, "uses_tf32", lambda device: device is DeviceKind.GPU)

    def outcomes(step, source):
        module = load_source(f"graded.{step.name}", Source(source), str(step.solution_file))
        return run_claims(ClaimsToRun(step, {"subject": module}, Stage.ON_GPU, device=DeviceKind.GPU))["subject"]

    return outcomes


@pytest.mark.sampled
@pytest.mark.parametrize("task", [*WITH_PRODUCTS, *AT_LENGTH])
def test_solutions_pass_as_far_as_tf32_goes_and_no_closer(gpu, task, monkeypatch):
    step = find_step(task)
    source = step.read_solution().text
    assert {outcome.mark for outcome in gpu(step, source).values()} == {Mark.PASS}
    monkeypatch.setattr(runtime, "uses_tf32", lambda device: False)
    assert Mark.FAIL in {outcome.mark for outcome in gpu(step, source).values()}


@pytest.mark.nightly
def test_serving_is_right_at_the_sizes_that_a_gpu_takes(gpu, monkeypatch):
    monkeypatch.setattr(Module, "compile", COMPILE)
    step = find_step("s15")
    assert gpu(step, step.read_solution().text)["test_compiled[gpu]"].mark == Mark.PASS


def test_what_asks_for_no_device_is_not_compiled_again(gpu):
    step = find_step("s22")
    assert gpu(step, step.read_solution().text) == {}


def test_a_mistake_is_refused_at_this_tolerance_too(gpu):
    step = find_step("s07")
    source = apply_edits(step.read_solution().text, {" / math.sqrt(self.head_dim)": ""})
    assert gpu(step, source)["test_compiled[gpu]"].mark == Mark.FAIL


@pytest.mark.nightly
def test_a_llama_compiles_for_a_gpu_that_is_not_there(tmp_path):
    file = tmp_path / "llama.mef"
    done = python(ROOT, "-c", COMPILE_LLAMA, "cuda", "sm_90a", str(file), status=0, timeout=1200)
    assert b"sm_90a" in file.read_bytes(), done.stdout
