"""Graphs that are compiled together give what each gives alone."""

import json

import numpy as np
import pytest
from max.engine import InferenceSession
from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor
from max.graph import Graph

from checker.claims.modules import build, compiled
from checker.max_adapter import compiled as sets

pytestmark = pytest.mark.slow

X = np.random.RandomState(0).standard_normal((2, 3)).astype(np.float32)
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


class Sliced(Scaled):
    """In the text of a graph that slices, MAX counts how often it was asked for the text."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)[1:].reshape([-1])


def run_compiled(kind, *shape):
    return np.from_dlpack(compiled(build(kind, weights=WEIGHTS), shape, device="cpu")(X))


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Three graphs that are compiled together, on a machine where MAX is not to compile any other."""

    def stage():
        for kind in (Scaled, Masked, Sliced):
            with pytest.raises(sets.StagedError):
                run_compiled(kind, "batch", 3)

    index = tmp_path / "graphs.json"
    sets.compile_together(sets.staged_by(stage), index)
    compile_any = InferenceSession.compile

    def compile_another(session, model, **options):
        if isinstance(model, Graph):
            raise LookupError("this one is not among those compiled together")
        return compile_any(session, model, **options)

    monkeypatch.setattr(sets, "_index_file", lambda of: index)
    monkeypatch.setattr(InferenceSession, "compile", compile_another)
    sets._read_index.cache_clear()
    yield index
    sets._read_index.cache_clear()


def test_each_is_found_and_right_until_the_file_is_damaged(kept):
    plain = X * WEIGHTS["weight"]
    np.testing.assert_allclose(run_compiled(Scaled, "batch", 3), plain, rtol=1e-5)
    np.testing.assert_allclose(run_compiled(Sliced, "batch", 3), plain[1:].reshape(-1), rtol=1e-5)
    wanted = np.where(X > 0, X, -np.inf).max(axis=-1, keepdims=True) + plain.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(run_compiled(Masked, "batch", 3), wanted, rtol=1e-5)
    with pytest.raises(LookupError):
        run_compiled(Scaled, "batch", "seq", 3)
    with open(json.loads(kept.read_text())["file"], "r+b") as opened:
        opened.truncate(1000)
    with pytest.raises(LookupError):  # it goes on to compile
        run_compiled(Scaled, "batch", 3)
    assert not kept.exists()
