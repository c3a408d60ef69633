"""What the book measures of the heads: on attention whose measures are known, and on the small model's."""

import numpy as np
import pytest

from tools.book_maker.values import head_measurements as heads
from tools.book_maker.values.head_measurements import Reading, measured, measured_evenly

pytestmark = pytest.mark.slow

IDS = np.array([[5, 6, 7, 5, 6, 8], [1, 1, 2, 3, 2, 4]])
LENGTH = IDS.shape[1]


def reading(*patterns):
    """A text read by one layer whose heads have the given weights, ``[query, key]``, in every window."""
    weights = np.broadcast_to(np.stack(patterns), (len(IDS), 1, len(patterns), LENGTH, LENGTH))
    return Reading(IDS, [[str(token) for token in row] for row in IDS], weights)


def previous():
    """A head that looks at the token before, and the first token at itself."""
    weights = np.eye(LENGTH, k=-1)
    weights[0, 0] = 1
    return weights


def induction():
    """A head that looks at what followed the last copy of each token of the first window; at itself without one."""
    weights = np.eye(LENGTH)
    for query in range(LENGTH):
        copies = [key for key in range(query) if IDS[0, key] == IDS[0, query]]
        if copies:
            weights[query] = np.eye(LENGTH)[copies[-1] + 1]
    return weights


def test_a_head_that_only_does_one_thing_is_measured_so():
    first = np.zeros((LENGTH, LENGTH))
    first[:, 0] = 1
    found = measured(reading(previous(), np.eye(LENGTH), first))
    assert found["the token before"][0] == pytest.approx([1, 0, 1 / (LENGTH - 1)])  # the second token's is the first
    assert found["itself"][0] == pytest.approx([0, 1, 0])
    assert found["the first token"][0] == pytest.approx([1 / (LENGTH - 1), 0, 1])
    assert found["the last eight"][0] == pytest.approx([1, 1, 1])


def test_what_came_after_a_copy_counts_only_where_there_is_one():
    text = reading(induction(), np.eye(LENGTH))
    only_first = Reading(IDS[:1], text.tokens[:1], text.weights[:1])
    found = measured(only_first)
    assert found["the token after an earlier copy"][0] == pytest.approx([1, 0])
    assert found["an earlier copy of itself"][0] == pytest.approx([0, 0])


def test_even_attention_is_measured_like_a_head():
    text = reading(reading(previous()).even)
    for name, share in measured(text).items():
        assert share[0, 0] == pytest.approx(measured_evenly(text)[name])


@pytest.mark.slow
def test_the_passage_is_read_in_full_windows_and_the_layers_sum_to_one():
    found = heads.passage()
    assert found.ids.shape[1] == heads.WINDOW
    assert found.weights.shape[0] == len(found.ids) == len(found.tokens) > 1
    assert found.weights.sum(axis=-1) == pytest.approx(1, abs=1e-5)
    assert not np.triu(found.weights, k=1).any()


def test_a_favorite_token_gets_what_the_table_says():
    (head, token, times, share), *_ = heads.favorites(1)
    found = heads.passage()
    layer, number = (int(word.rstrip(",")) for word in head.split()[1::2])
    here = np.array([[heads.visible(text) == token for text in row] for row in found.tokens])
    assert here.sum() == times
    given = (found.weights[:, layer, number] * here[:, None]).sum()
    even = (found.even * here[:, None]).sum()
    assert share == pytest.approx(given / even, rel=1e-4)
    assert share > 1
