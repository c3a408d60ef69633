"""What the book measures of the heads: on attention whose measures are known, and on the small model's."""

import numpy as np
import pytest

from play.whale import read
from tools.book_maker.values.head_measurements import SENTENCE, Reading, first_token, passage, sentence

pytestmark = pytest.mark.slow

IDS = np.array([[5, 6, 7, 5, 6, 8], [1, 1, 2, 3, 2, 4]])
LENGTH = IDS.shape[1]


def reading(*patterns, ids=IDS):
    """A text read by one layer whose heads have the given weights, ``[query, key]``, in every window."""
    weights = np.broadcast_to(np.stack(patterns), (len(ids), 1, len(patterns), LENGTH, LENGTH))
    return Reading(ids, [[str(token) for token in row] for row in ids], weights)


def test_copies_are_found_and_even_attention_is_measured_like_a_head():
    before, induction = np.eye(LENGTH, k=-1), np.eye(LENGTH)
    before[0, 0] = 1  # the first token has only itself
    induction[3], induction[4] = np.eye(LENGTH)[1], np.eye(LENGTH)[2]  # after the copies of 5 and 6
    shares = reading(induction, np.eye(LENGTH), ids=IDS[:1]).shares
    assert shares["the token after an earlier copy"][0] == pytest.approx([1, 0])
    assert shares["an earlier copy of itself"][0] == pytest.approx([0, 0])
    assert shares["the last eight"][0] == pytest.approx([1, 1])
    evenly = reading(reading(before).even)
    assert {name: share[0, 0] for name, share in evenly.shares.items()} == pytest.approx(evenly.even_shares)


def test_a_short_text_makes_the_first_token_look_important_as_the_page_says():
    assert first_token(sentence())[0] > 3 * first_token(passage())[0]


def test_the_model_in_numpy_computes_what_the_model_in_max_does():
    numpy = [read(SENTENCE)[f"h.{layer}.attn.weights"] for layer in range(sentence().weights.shape[1])]
    np.testing.assert_allclose(np.stack(numpy), sentence().weights[0], atol=1e-4)
