"""A GPU that multiplies in TF32, imitated: graphs are interpreted, and every factor of a product is cut to 10 bits."""

from functools import partial

import numpy as np
import pytest
from max._interpreter_ops import matmul_gc
from max.driver import CPU, Buffer
from max.experimental.nn import Module

from checker.claims.observation import Observation
from checker.claims.plugin import load_source
from checker.course.steps import claims_of, find_step
from checker.diagnosis.mistakes import edited
from checker.events import COMPILED, DRAWN, FAIL, NUMBERS, PASS, TRACED, TRACING, Claimed, Died, Options, StageEnded
from checker.max_adapter import runtime
from checker.session.printer import View
from checker.session.session import Session
from checker.session.verdict import PASSED

pytestmark = pytest.mark.slow

COMPILE = Module.compile
DROPPED = np.int32(-1 << 13)  # a mask of the 13 bits of float32 that TF32 has not
#: Step 15 compiles an operation of MAX that its interpreter has not; the others multiply no matrices.
WITH_PRODUCTS = ["s04", "s07", "s08", "s09", "s10", "s11", "s17", "s18", "s19"]
AT_LENGTH = [pytest.param(task, marks=pytest.mark.nightly) for task in ("s14", "s20")]


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
    monkeypatch.setattr(runtime, "uses_tf32", lambda device: device == "gpu")

    def outcomes(step, source):
        modules = {"subject": load_source(f"graded.{step.name}", source, str(step.solution_file))}
        return Observation(step, modules, partial(dict, modules), COMPILED, device="gpu").run()["subject"]

    return outcomes


@pytest.mark.parametrize("task", [*WITH_PRODUCTS, *AT_LENGTH])
def test_solutions_pass_as_far_as_tf32_goes_and_no_closer(gpu, task, monkeypatch):
    step = find_step(task)
    source = step.solution_file.read_text()
    assert {outcome.verdict for outcome in gpu(step, source).values()} == {PASS}
    monkeypatch.setattr(runtime, "uses_tf32", lambda device: False)
    assert FAIL in {outcome.verdict for outcome in gpu(step, source).values()}


@pytest.mark.nightly
def test_serving_is_right_at_the_sizes_that_a_gpu_takes(gpu, monkeypatch):
    monkeypatch.setattr(Module, "compile", COMPILE)
    step = find_step("s15")
    assert gpu(step, step.solution_file.read_text())["test_compiled[gpu]"].verdict == PASS


def test_a_mistake_is_refused_at_this_tolerance_too(gpu):
    step = find_step("s07")
    source = edited(step.solution_file.read_text(), {" / math.sqrt(self.head_dim)": ""})
    assert gpu(step, source)["test_compiled[gpu]"].verdict == FAIL


def test_the_gpus_line_follows_the_verdict_which_is_the_cpus():
    step = find_step("s07")
    session = Session(step, View(), Options(solution=True))
    for claim, kind in claims_of(step).items():
        session.hear(Claimed(f"{claim}[cpu]", "_attn", "It is right.", TRACED if kind == COMPILED else PASS))
    for stage in (NUMBERS, DRAWN, TRACING):
        session.hear(StageEnded(stage))
    assert not session.verdict
    session.hear(Claimed("test_compiled[cpu]", "compiled", "It is right.", PASS))
    session.hear(StageEnded(COMPILED))
    assert session.verdict.status == PASSED
    session.hear(Claimed("test_compiled[gpu]", "compiled", "It is right.", FAIL, "It is off."))
    session.hear(Died())
    assert session.conclude().status == PASSED
    *_, verdict, row, caveat, end = session.items
    assert verdict.text.startswith("Pass (")
    assert row.verdict == FAIL
    assert caveat.text == "It is off. Only the GPU disagrees, and the CPU decides: a pass, with that caveat."
    assert end.text == "The GPU's part did not come to its end. The pass stands."
