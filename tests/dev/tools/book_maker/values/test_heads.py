"""What the book says of the heads: the small model's, in MAX and in NumPy."""

import numpy as np
import pytest

from checker.course.steps import SMALL_MODEL
from checker.max_adapter.hooks import install_hooks
from play.attention.weights import attention_of, shares
from play.tokens import encode, load_tokenizer
from play.whale import read
from solutions.solution_13 import load_pretrained
from tools.book_maker.values import heads

pytestmark = pytest.mark.slow

SENTENCE = heads.FIGURES["sentence"]


def test_the_model_in_numpy_computes_what_the_model_in_max_does():
    """And a short text makes the first token look important, as the page says."""
    install_hooks()
    model = load_pretrained(SMALL_MODEL)
    weights, _ = attention_of(model, encode(load_tokenizer(SMALL_MODEL), SENTENCE["text"], model.config))
    assert SENTENCE["tokens"] == weights.shape[-1]
    most = shares(weights)["the first token"].max()
    assert most == pytest.approx(SENTENCE["most to the first token"], abs=1e-4)
    assert most > 3 * heads.shares["the first token"].max()
    numpy = [read(SENTENCE["text"])[f"h.{layer}.attn.weights"] for layer in range(len(weights))]
    np.testing.assert_allclose(np.stack(numpy), weights, atol=1e-4)
