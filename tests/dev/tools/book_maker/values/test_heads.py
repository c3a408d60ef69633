"""What the book says of the heads: the small model's, in MAX and in NumPy."""

import numpy as np
import pytest

from checker.course.steps import SMALL_MODEL
from checker.max_adapter.hooks import install_hooks
from play import attention_weights
from play.tokens import encode, load_tokenizer
from play.training.texts import moby_dick
from play.whale import read
from solutions.solution_13 import load_pretrained
from tools.book_maker.values import heads

pytestmark = pytest.mark.slow

CHAPTER = 30
SENTENCE = heads.FIGURES["sentence"]


def attention(text, length=None):  # -> [window, layer, head, seq, seq]
    """The weights of the small model's heads on a text, cut into windows."""
    install_hooks()
    model = load_pretrained(SMALL_MODEL)
    ids = encode(load_tokenizer(SMALL_MODEL), text, model.config)
    length = length or ids.shape[1]
    windows = ids[:, : ids.shape[1] // length * length].reshape(-1, 1, length)
    return np.stack([attention_weights.attention_of(model, window)[0] for window in windows])


def test_what_is_recorded_of_the_heads_is_the_models():
    weights = attention(moby_dick()[CHAPTER], heads.FIGURES["tokens of a stretch"])
    assert len(weights) == heads.FIGURES["stretches"]
    for kind, share in attention_weights.shares(weights).items():
        np.testing.assert_allclose(share.mean(axis=0), heads.shares[kind], atol=1e-4)


def test_the_model_in_numpy_computes_what_the_model_in_max_does():
    """And a short text makes the first token look important, as the page says."""
    (weights,) = attention(SENTENCE["text"])
    assert SENTENCE["tokens"] == weights.shape[-1]
    most = attention_weights.shares(weights)["the first token"].max()
    assert most == pytest.approx(SENTENCE["most to the first token"], abs=1e-4)
    assert most > 3 * heads.shares["the first token"].max()
    numpy = [read(SENTENCE["text"])[f"h.{layer}.attn.weights"] for layer in range(len(weights))]
    np.testing.assert_allclose(np.stack(numpy), weights, atol=1e-4)
