"""MAX as the checks run it."""

import json
import sys
from contextlib import nullcontext, suppress

import numpy as np
import pytest
from max.dtype import DType
from max.engine import InferenceSession
from max.experimental import executor
from max.experimental import functional as F
from max.experimental.nn import Linear, Module, Sequential
from max.experimental.tensor import Tensor
from max.graph import Graph

from checker.claims import Refusal, modules
from checker.claims.modules import build, run
from checker.course.steps import ROOT
from checker.max_adapter import graph_store, kernel_store
from checker.max_adapter.tracing import Mode, up_to_compiling
from tools.course_copy import python

X = np.random.RandomState(0).standard_normal((2, 3)).astype(np.float32)


def test_what_the_interpreter_refuses_is_compiled_and_said_to_be(monkeypatch, pytestconfig):
    events = []
    monkeypatch.setattr("checker.compiling.listeners", [lambda what, seconds: events.append((what, seconds))])
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
    recorded, groups = kernel_store.recorded_kernels(), kernel_store.kernel_groups()
    assert sorted(kernel for group in groups.values() for kernel in group) == sorted(set().union(*recorded.values()))
    assert all(groups["model"] >= set(recorded[f"step_{number:02}"]) for number in (2, 7, 11, 13))


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


def test_weights_without_a_place_are_refused():
    weights = {"weight": np.ones((2, 3), np.float32), "bias": np.ones(2, np.float32)}
    build(Linear, 3, 2, weights=weights)
    with pytest.raises(Refusal, match=r"has no bias, .* Was it made with bias=False\?"):
        build(lambda: Linear(3, 2, bias=False), weights=weights)
    with pytest.raises(Refusal, match=r"weight has the shape \[3, 2\], and must have \[2, 3\]"):
        build(Linear, 2, 3, weights=weights)
    named_otherwise = {f"h.0.{name}": array for name, array in weights.items()}
    with pytest.raises(Refusal, match=r"Sequential has no h\.0\.weight, .* It has 0\.weight, 0\.bias\."):
        build(lambda: Sequential(Linear(3, 2)), weights=named_otherwise)


class Keeping(Module):
    """A layer, and what is kept beside it."""

    def __init__(self, make) -> None:
        self.layer = Linear(3, 2)
        self.kept = make(self.layer)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda layer: [layer], "has kept.0.weight, which is layer.weight under a second name"),
        (lambda layer: Tensor.zeros([3]), "has kept, which is a tensor on self, so MAX takes it for a weight"),
        (lambda layer: Linear(3, 2), "has kept.weight, which no checkpoint has"),
        (lambda layer: np.zeros(3), ""),
    ],
)
def test_what_self_keeps_beside_the_weights_is_refused(make, words):
    module = build(Keeping, make, weights={"layer.bias": np.ones(2, np.float32)})
    with pytest.raises(Refusal, match=words) if words else nullcontext():
        modules.has_only(module, ["layer.weight", "layer.bias"])


class Sliced(Module):
    """In the text of a graph that slices, MAX counts how often it was asked for the text."""

    def __init__(self) -> None:
        self.weight = Tensor.ones([3])

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.weight)[1:].reshape([-1])


def compile_sliced(*shape):
    modules.compiled(build(Sliced, weights={"weight": np.ones(3, np.float32)}), shape, device="cpu")


@pytest.fixture
def index(tmp_path, monkeypatch):
    """The index of a set whose file is damaged, on a machine where MAX is not to compile a graph."""
    compile_any = InferenceSession.compile

    def compile_another(session, model, **options):
        if isinstance(model, Graph):
            raise LookupError("this one is compiled alone")
        return compile_any(session, model, **options)

    with up_to_compiling(Mode.COLLECT) as left:
        compile_sliced("batch", 3)
    (graph,), index, file = left, tmp_path / "graphs.json", tmp_path / "graphs.mef"
    assert "counter = " in repr(graph)  # and from now on another one
    file.write_bytes(b"cut short")
    index.write_text(json.dumps({"file": str(file), "graphs": [graph_store.fingerprint(graph)], "weights": {}}))
    monkeypatch.setattr(graph_store, "_index_file", lambda of: index)
    monkeypatch.setattr(InferenceSession, "compile", compile_another)
    graph_store._read_index.cache_clear()
    yield index
    graph_store._read_index.cache_clear()


def test_a_graph_is_found_by_its_text_and_compiled_alone_where_it_is_another_or_the_file_is_damaged(index):
    """That what is found is right, the compiled claims say; that it is found after ``warm``, ``test_play.py``."""
    with pytest.raises(LookupError):
        compile_sliced("batch", "seq", 3)
    assert index.exists()
    with pytest.raises(LookupError):
        compile_sliced("batch", 3)
    assert not index.exists()
