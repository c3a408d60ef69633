"""A graph that was compiled together with others is found by its text; without their file, MAX compiles it alone.

That what is found is right, the compiled claims say, and that it is found after ``warm``, ``test_play.py``.
"""

import json

import numpy as np
import pytest
from max.engine import InferenceSession
from max.experimental.nn import Module
from max.experimental.tensor import Tensor
from max.graph import Graph

from checker.claims.modules import build, compiled
from checker.max_adapter import compiled as sets


class Sliced(Module):
    """In the text of a graph that slices, MAX counts how often it was asked for the text."""

    def __init__(self) -> None:
        self.weight = Tensor.ones([3])

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.weight)[1:].reshape([-1])


def compile_sliced(*shape):
    compiled(build(Sliced, weights={"weight": np.ones(3, np.float32)}), shape, device="cpu")


@pytest.fixture
def index(tmp_path, monkeypatch):
    """The index of a set whose file is damaged, on a machine where MAX is not to compile a graph."""
    compile_any = InferenceSession.compile

    def compile_another(session, model, **options):
        if isinstance(model, Graph):
            raise LookupError("this one is compiled alone")
        return compile_any(session, model, **options)

    def stage():
        with pytest.raises(sets.StagedError):
            compile_sliced("batch", 3)

    (graph,), index, file = sets.staged_by(stage), tmp_path / "graphs.json", tmp_path / "graphs.mef"
    assert "counter = " in repr(graph)  # and from now on another one
    file.write_bytes(b"cut short")
    index.write_text(json.dumps({"file": str(file), "graphs": [sets.fingerprint(graph)], "weights": {}}))
    monkeypatch.setattr(sets, "_index_file", lambda of: index)
    monkeypatch.setattr(InferenceSession, "compile", compile_another)
    sets._read_index.cache_clear()
    yield index
    sets._read_index.cache_clear()


def test_a_graph_is_found_by_its_text_and_compiled_alone_where_it_is_another_or_the_file_is_damaged(index):
    with pytest.raises(LookupError):
        compile_sliced("batch", "seq", 3)
    assert index.exists()
    with pytest.raises(LookupError):
        compile_sliced("batch", 3)
    assert not index.exists()
