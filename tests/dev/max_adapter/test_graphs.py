"""Graphs that are compiled together give what each gives alone."""

import json

import numpy as np
import pytest
from max.dtype import DType
from max.engine import InferenceSession
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor
from max.graph import Graph

from checker.claims.modules import build, compiled
from checker.max_adapter import graphs
from checker.max_adapter.runtime import tensor

pytestmark = pytest.mark.slow

X = np.random.RandomState(0).standard_normal((2, 3)).astype(np.float32)
BYTES = np.array([3, 200, 7], np.uint8)
WEIGHTS = {"weight": np.random.RandomState(1).standard_normal(3).astype(np.float32)}


class Scaled(Module):
    """No product of matrices, which alone takes MAX half a minute to compile."""

    def __init__(self) -> None:
        self.weight = Tensor.ones([3])

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


class Masked(Scaled):
    """Minus infinity is among the constants: MAX's parser of a graph's text makes 0 of it."""

    def forward(self, x: Tensor) -> Tensor:
        return F.where(x > 0, x, float("-inf")).max(axis=-1) + super().forward(x).sum(axis=-1)


class InBytes(Scaled):
    """A weight of another type, as a matrix in blocks is."""

    def __init__(self) -> None:
        super().__init__()
        self.data = tensor(BYTES)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x * self.data.cast(DType.float32))


class Sliced(Scaled):
    """In the text of a graph that slices, MAX counts how often it was asked for the text."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)[1:].reshape([-1])


def run_compiled(kind, *shape):
    graph = compiled(build(kind, weights=WEIGHTS), shape, device="cpu")
    return np.from_dlpack(graph(X))


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """The three graphs of this file, compiled together."""

    def stage():
        for kind in (Scaled, Masked, InBytes):
            with pytest.raises(graphs.StagedError):
                run_compiled(kind, "batch", 3)

    staged = graphs.staged_by(stage)
    path = tmp_path_factory.mktemp("kept") / "graphs.json"
    graphs.compile_together(staged, path)
    return path


@pytest.fixture
def kept(index, monkeypatch):
    """As on a machine that has these three, and MAX is not to compile any other."""
    compile_any = InferenceSession.compile

    def compile_another(session, model, **options):
        if isinstance(model, Graph):
            raise LookupError("this one is not among those compiled together")
        return compile_any(session, model, **options)

    monkeypatch.setattr(graphs, "_index", lambda of: index)
    monkeypatch.setattr(InferenceSession, "compile", compile_another)
    graphs._kept.cache_clear()
    yield index
    graphs._kept.cache_clear()


def test_each_is_found_and_right(kept):
    plain = X * WEIGHTS["weight"]
    np.testing.assert_allclose(run_compiled(Scaled, "batch", 3), plain, rtol=1e-5)
    np.testing.assert_allclose(run_compiled(InBytes, "batch", 3), plain * BYTES, rtol=1e-5)
    wanted = np.where(X > 0, X, -np.inf).max(axis=-1, keepdims=True) + plain.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(run_compiled(Masked, "batch", 3), wanted, rtol=1e-5)


def test_a_graph_keeps_its_name():
    def stage():
        with pytest.raises(graphs.StagedError):
            run_compiled(Sliced, "batch", 3)

    first, again = (graphs.staged_by(stage)[0] for _ in range(2))
    assert graphs.fingerprint(first) == graphs.fingerprint(first) == graphs.fingerprint(again)


def test_another_graph_is_not_found(kept):
    with pytest.raises(LookupError):
        run_compiled(Scaled, "batch", "seq", 3)


def test_a_file_that_cannot_be_read_is_forgotten(kept):
    file = json.loads(kept.read_text())["file"]
    with open(file, "r+b") as opened:
        opened.truncate(1000)
    with pytest.raises(LookupError):  # it goes on to compile
        run_compiled(Scaled, "batch", 3)
    assert not kept.exists()
