"""MAX as the checks run it."""

import sys
from contextlib import suppress

import numpy as np
import pytest
from max.dtype import DType
from max.experimental import executor
from max.experimental import functional as F
from max.experimental.nn import Linear

from checker.claims import Refusal
from checker.claims.modules import build, run
from checker.course.steps import ROOT
from checker.max_adapter import compiled, runtime
from tools.course_copy import python

X = np.random.RandomState(0).standard_normal((2, 3)).astype(np.float32)


def test_what_the_interpreter_refuses_is_compiled_and_said_to_be(monkeypatch, pytestconfig):
    events = []
    monkeypatch.setattr(runtime, "listeners", [lambda what, seconds: events.append((what, seconds))])
    if not pytestconfig.option.nightly:  # MAX's compiler takes a minute
        monkeypatch.setattr(executor.CompilingExecutor, "execute", lambda *_: 1 / 0)
    with suppress(ZeroDivisionError):
        np.from_dlpack(run(F.argsort, X[0]))
    assert any("no kernel" in what and seconds for what, seconds in events)


@pytest.mark.parametrize("dtype", [DType.bfloat16, DType.float16])
def test_numbers_of_16_bits_are_refused_before_anything_is_compiled(dtype):
    with pytest.raises(TypeError, match="right to 3 digits"):
        np.from_dlpack(run(lambda x: x.cast(dtype).cast(DType.float32), X))


def test_every_recorded_kernel_is_in_one_file_and_the_models_steps_need_but_one():
    recorded, groups = compiled.recorded_kernels(), compiled.kernel_groups()
    assert sorted(kernel for group in groups.values() for kernel in group) == sorted(set().union(*recorded.values()))
    assert all(groups["model"] >= set(recorded[f"step_{number:02}"]) for number in (2, 7, 11, 13))


IDLE = """
import ctypes, pathlib, re, time
from checker.max_adapter import runtime
runtime.prepare()
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


def test_weights_without_a_place_are_refused():
    weights = {"weight": np.ones((2, 3), np.float32), "bias": np.ones(2, np.float32)}
    build(Linear, 3, 2, weights=weights)
    with pytest.raises(Refusal, match=r"has no bias, .* Was it made with bias=False\?"):
        build(lambda: Linear(3, 2, bias=False), weights=weights)
    with pytest.raises(Refusal, match=r"weight has the shape \[3, 2\], and must have \[2, 3\]"):
        build(Linear, 2, 3, weights=weights)
