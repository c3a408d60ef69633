"""A text ends where the tokenizer says, and nowhere else."""

import numpy as np
import pytest
from numpy.random import default_rng
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from play.generation.streaming import new_tokens, pieces_of_text
from solutions.solution_12 import Sampling


@pytest.mark.parametrize(("last", "text"), [("<|endoftext|>", "!a"), ("b", "!aba")])
def test_a_text_ends_at_the_token_for_it_if_there_is_one(last, text):
    chosen = np.array([0, 1, 2, 1])
    model = lambda ids: np.eye(3)[None, chosen[[ids.shape[-1] - 1]]]  # noqa: E731
    prompt = np.zeros((1, 1), np.int64)
    tokenizer = Tokenizer(WordLevel({"!": 0, "a": 1, last: 2}))
    tokens = new_tokens(model, tokenizer, prompt, 4, Sampling(0), n_positions=8, rng=default_rng())
    assert "".join(pieces_of_text(tokens, tokenizer)).replace(" ", "") == text
