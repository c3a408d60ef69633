"""Step 12: generation, one token after another. It is NumPy around a model that is already compiled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, default_rng

from solutions.arrays import LogitsFunction


def keep_top_k(logits: np.ndarray, top_k: int) -> np.ndarray:  # [batch, vocab] -> [batch, vocab]
    """Return the logits with -inf in place of those below the ``top_k``-th largest of their row.

    Tokens that tie with it stay, and a ``top_k`` above the size of the vocabulary keeps all.
    """
    # TODO: Compare each row with its own k-th largest logit. (3 lines)
    raise NotImplementedError


def softmax(logits: np.ndarray, temperature: float) -> np.ndarray:  # [batch, vocab] -> [batch, vocab]
    """Return the probability of every token, at a temperature above 0; a row adds up to 1.

    A temperature below 1 favors the likely tokens, one above 1 evens them out.
    """
    logits = logits.astype(np.float64)  # in float32, a tiny temperature is 0
    # TODO: Take the softmax of logits / temperature, in which exp cannot overflow. (3 lines)
    raise NotImplementedError


@dataclass(frozen=True)
class Sampling:
    """How a token is chosen: at temperature 0 the likeliest, else one drawn, from all tokens or the likely ones."""

    temperature: float = 1.0
    top_k: int | None = None  # None: all tokens

    def __post_init__(self) -> None:
        """Raise ValueError if a setting is out of its range."""
        if not 0 <= self.temperature < np.inf:
            raise ValueError(f"temperature = {self.temperature} is impossible; give 0, or a finite number above it")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k = {self.top_k} leaves no token to choose from; give 1 or more, or None for all")

    def probabilities(self, logits: np.ndarray) -> np.ndarray:  # [batch, vocab] -> [batch, vocab]
        """Return the probability of each token to be drawn, at a temperature above 0."""
        if self.top_k is not None:
            logits = keep_top_k(logits, self.top_k)
        return softmax(logits, self.temperature)

    def choose(self, logits: np.ndarray, rng: Generator) -> np.ndarray:  # [batch, vocab] -> int64 [batch]
        """Return one token for every row: the most likely one at temperature 0, else one drawn for this row alone."""
        # TODO: Choose greedily, or draw a token for each row. (3 lines)
        raise NotImplementedError


def generate_next_token(
    model: LogitsFunction, input_ids: np.ndarray, sampling: Sampling, rng: Generator
) -> np.ndarray:  # int64 [batch, seq] -> int64 [batch]
    """Return the next token of every row; the model sees all of ``input_ids``. Raise ValueError if there are none."""
    if input_ids.shape[-1] == 0:
        raise ValueError("the prompt is empty; give at least one token, <|endoftext|> if you have no other")
    # TODO: Choose by the logits of the last position. (2 lines)
    raise NotImplementedError


def generate_tokens(
    model: LogitsFunction,
    input_ids: np.ndarray,
    max_new_tokens: int,
    sampling: Sampling,
    *,
    n_positions: int,
    rng: Generator | None = None,
) -> np.ndarray:  # int64 [batch, seq] -> int64 [batch, seq + max_new_tokens]
    """Return the prompt and ``max_new_tokens`` more tokens, drawn with ``rng``, or with a new generator if it is None.

    The model sees the last ``n_positions`` tokens: of a longer text, the oldest drops out for every one that is added.
    Raise ValueError if ``n_positions`` is below 1, or if the prompt is empty and a token is to follow.
    """
    if n_positions < 1:
        raise ValueError(f"n_positions = {n_positions} lets the model see no token; give 1 or more")
    rng = default_rng(rng)  # as it is if it is a generator
    # TODO: Let every row grow by one token at a time. (5 lines)
    raise NotImplementedError
