"""A graph of eager operations gets its inputs one at a time, and describes them together once."""

import numpy as np
import pytest
from max.experimental import _passes
from max.experimental import functional as F

from checker.max_adapter import inputs, runtime

runtime.prepare()


def total(count: int) -> np.ndarray:
    """Add up 1 to ``count``, each a tensor of its own, eagerly and in one graph."""
    with F.lazy():
        terms = [runtime.tensor(np.full([1, 1], number, np.float32)) for number in range(1, count + 1)]
        result = terms[0]
        for term in terms[1:]:
            result = result + term
    return np.from_dlpack(result)


@pytest.fixture
def described(monkeypatch):
    """Counts how often MAX describes all inputs of a graph."""
    calls, describe = [], _passes._fixup_graph
    monkeypatch.setattr(_passes, "_fixup_graph", lambda graph: (calls.append(graph), describe(graph)))
    return calls


def test_all_inputs_are_described_as_often_for_many_as_for_few(described):
    counts = {}
    for count in (2, 40):
        described.clear()
        assert total(count) == count * (count + 1) / 2
        counts[count] = len(described)
    assert counts[2] == counts[40]


def test_where_it_fails_max_goes_on_by_itself_and_it_is_said(described, monkeypatch):
    """The hook is put in once more, around MAX's own function, and fails where it looks for the graph's block."""
    lost = []
    monkeypatch.setattr(_passes, "add_input", describing_all(_passes.add_input))
    inputs.install(lost.append)
    find, failures = _passes._graph_block, iter([True])

    def fail_once(graph):
        if next(failures, False):
            raise AttributeError("moved")
        return find(graph)

    monkeypatch.setattr(_passes, "_graph_block", fail_once)
    assert total(5) == 15
    assert [str(error) for error in lost] == ["moved"]


def describing_all(hooked):
    """Return MAX's own ``add_input``, which the hook keeps."""
    return next(
        cell.cell_contents
        for cell in hooked.__closure__
        if getattr(cell.cell_contents, "__module__", "") == _passes.__name__
    )
