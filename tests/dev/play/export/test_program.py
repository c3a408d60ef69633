"""What the exported file ends with: a text ends where the tokenizer says, and nowhere else."""

import numpy as np
import pytest
from numpy.random import default_rng
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from play.export.program import stream_text
from solutions.solution_12 import Sampling

WORDS = {"!": 0, "a": 1, "<|endoftext|>": 2}


@pytest.mark.parametrize(("words", "text"), [(WORDS, "!a"), ({"!": 0, "a": 1, "b": 2}, "!aba")])
def test_a_text_ends_at_the_token_for_it_if_there_is_one(words, text):
    chosen = np.array([0, 1, 2, 1])
    model = lambda ids: np.eye(3)[None, chosen[[ids.shape[-1] - 1]]]  # noqa: E731
    prompt = np.zeros((1, 1), np.int64)
    pieces = stream_text(model, Tokenizer(WordLevel(words)), prompt, 4, Sampling(0), default_rng(), 8)
    assert "".join(pieces).replace(" ", "") == text
