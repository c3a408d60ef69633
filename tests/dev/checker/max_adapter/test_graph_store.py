"""The graphs that are kept, and those that MAX's compiler would refuse."""

import hashlib
import json
import os

import numpy as np
import pytest
from max.driver import CPU
from max.dtype import DType
from max.engine import InferenceSession
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor, TensorType
from max.graph import Graph

from checker.claims import modules
from checker.claims.modules import build
from checker.device import DeviceKind
from checker.max_adapter import graph_store
from checker.max_adapter.hooks import install_hooks
from checker.max_adapter.tracing import AbandonedGraphError, GraphMode, in_mode


class Sliced(Module):
    """In the text of a graph that slices, MAX counts how often it was asked for the text."""

    def __init__(self) -> None:
        self.weight = Tensor.ones([3])

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.weight)[1:].reshape([-1])


def compile_sliced(*shape):
    modules.compiled(build(Sliced, weights={"weight": np.ones(3, np.float32)}), shape, device=DeviceKind.CPU)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """The index of a set whose file is damaged, on a machine where MAX is not to compile a graph."""
    compile_any = InferenceSession.compile

    def compile_another(session, model, **options):
        if isinstance(model, Graph):
            raise LookupError("this one is compiled alone")
        return compile_any(session, model, **options)

    with pytest.raises(AbandonedGraphError) as ended, in_mode(GraphMode.COLLECT):
        compile_sliced("batch", 3)
    graph, index, file = ended.value.graph, tmp_path / "graphs.json", tmp_path / "graphs.mef"
    assert "counter = " in repr(graph)  # and from now on another one
    file.write_bytes(b"cut short")
    kept = {"file": str(file), "digest": "", "graphs": [graph_store.fingerprint(graph)], "weights": {}}
    index.write_text(json.dumps(kept))
    monkeypatch.setattr(graph_store, "_index_file", lambda set_name: index)
    monkeypatch.setattr(InferenceSession, "compile", compile_another)
    graph_store._read_index.cache_clear()
    yield index
    graph_store._read_index.cache_clear()


def test_a_graph_is_found_by_its_text_and_compiled_alone_where_it_is_another_or_the_file_is_damaged(index):
    """That what is found is right, the compiled claims say; that it is found after ``warm``, ``test_warm_model.py``."""
    with pytest.raises(LookupError):
        compile_sliced("batch", "seq", 3)
    assert index.exists()
    with pytest.raises(LookupError):
        compile_sliced("batch", 3)
    assert not index.exists()


def test_whoever_looks_for_a_graph_uses_what_says_where_it_is(index):
    """Else that is removed, after a month, and everything is compiled again."""
    os.utime(index, (0, 0))
    assert graph_store._read_index("play") is not None
    assert index.stat().st_mtime > 0


def test_a_graph_whose_file_is_damaged_is_abandoned_where_nothing_is_to_be_compiled(index):
    with pytest.raises(AbandonedGraphError), in_mode(GraphMode.TRACE):
        compile_sliced("batch", 3)
    assert not index.exists()


def test_a_file_that_is_as_it_was_written_is_kept_whatever_keeps_max_from_loading_it(index):
    kept = json.loads(index.read_text())
    index.write_text(json.dumps(kept | {"digest": hashlib.sha256(b"cut short").hexdigest()}))
    with pytest.raises(LookupError):
        compile_sliced("batch", 3)
    assert index.exists()


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"file": "%s"}'])
def test_an_index_that_is_none_is_as_good_as_a_missing_one(index, text):
    index.write_text(text.replace("%s", str(index)))
    with pytest.raises(LookupError, match="this one is compiled alone"):
        compile_sliced("batch", 3)


def staged(evaluate):
    """Return the graph of a module that is a function of ``x`` [batch, 6]."""

    class Evaluating(Module):
        def forward(self, x):
            return evaluate(x)

    install_hooks()
    with pytest.raises(AbandonedGraphError) as ended, in_mode(GraphMode.COLLECT):
        Evaluating().compile(TensorType(DType.float32, ["batch", 6], device=CPU()))
    return ended.value.graph


@pytest.mark.parametrize(
    ("evaluate", "words"),
    [
        (lambda x: F.softmax(x, axis=-2), "no softmax over a negative axis"),
        (lambda x: F.sum(x > 0, axis=1), "no sum of booleans"),
        (lambda x: F.softmax(x, axis=-1), ""),
        (lambda x: F.sum(x, axis=1), ""),
    ],
)
def test_what_the_compiler_would_refuse_is_refused_before(evaluate, words):
    refused = graph_store.why_the_compiler_refuses(staged(evaluate))
    assert words in refused
    assert bool(words) == bool(refused)
