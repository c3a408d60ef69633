"""What the book says of the heads: the small model's, in MAX and in NumPy."""

import numpy as np
import pytest

from checker.course.steps import SMALL_MODEL
from checker.max_adapter.hooks import install_hooks
from play.attention.weights import attention_of, shares
from play.tokens import encode, load_tokenizer
from play.training.texts import moby_dick
from play.whale import read
from solutions.solution_13 import load_pretrained
from tools.book_maker.values import heads

pytestmark = pytest.mark.slow

CHAPTER = 30
SENTENCE = heads.FIGURES["sentence"]


def windows(text, length=None):  # -> [window, seq]
    """A text's ids, cut into windows."""
    (ids,) = encode(load_tokenizer(SMALL_MODEL), text, load_pretrained(SMALL_MODEL).config)
    length = length or len(ids)
    return ids[: len(ids) // length * length].reshape(-1, length)


def attention(ids):  # [window, seq] -> [window, layer, head, seq, seq]
    """The weights of the small model's heads."""
    install_hooks()
    model = load_pretrained(SMALL_MODEL)
    return np.stack([attention_of(model, window[None])[0] for window in ids])


def test_copies_are_found():
    """Token 3 is a copy of token 0, and token 4 of token 1. One head looks at what came next, the other at itself."""
    ids, induction = np.array([[5, 6, 7, 5, 6, 8]]), np.eye(6)
    induction[3], induction[4] = np.eye(6)[1], np.eye(6)[2]
    shares = heads.measured(ids, np.array([[[induction, np.eye(6)]]]))
    assert shares["the token after an earlier copy"].tolist() == [[1, 0]]
    assert shares["an earlier copy of itself"].tolist() == [[0, 0]]
    assert shares["the last eight"].tolist() == [[1, 1]]
    assert heads.highest(shares["itself"]) == (1, 0, 1)


def test_what_is_recorded_of_the_heads_is_the_models():
    ids = windows(moby_dick()[CHAPTER], heads.FIGURES["tokens of a stretch"])
    repeated = heads.repeated(load_pretrained(SMALL_MODEL).config.vocab_size)
    assert len(ids) == heads.FIGURES["stretches"]
    measured = heads.measured(ids, attention(ids))
    measured[heads.REPEATED] = heads.measured(repeated, attention(repeated))["the token after an earlier copy"]
    assert measured.keys() == heads.shares.keys()
    for kind, share in measured.items():
        np.testing.assert_allclose(share, heads.shares[kind], atol=1e-4)


def test_even_attention_is_measured_as_a_head_is():
    length = heads.FIGURES["tokens of a stretch"]
    even = (np.tri(length) / np.arange(1, length + 1)[:, None])[None, None, None]
    ids = windows(moby_dick()[CHAPTER], length)
    for kind, share in heads.measured(ids, np.broadcast_to(even, (len(ids), *even.shape[1:]))).items():
        assert share.item() == pytest.approx(heads.even_shares[kind], abs=1e-5)


def test_the_model_in_numpy_computes_what_the_model_in_max_does():
    """And a short text makes the first token look important, as the page says."""
    (weights,) = attention(windows(SENTENCE["text"]))
    assert SENTENCE["tokens"] == weights.shape[-1]
    most = shares(weights)["the first token"].max()
    assert most == pytest.approx(SENTENCE["most to the first token"], abs=1e-4)
    assert most > 3 * heads.shares["the first token"].max()
    numpy = [read(SENTENCE["text"])[f"h.{layer}.attn.weights"] for layer in range(len(weights))]
    np.testing.assert_allclose(np.stack(numpy), weights, atol=1e-4)
