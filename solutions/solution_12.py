"""Step 12: generation, one token after another. It is NumPy around a model that is already compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, default_rng

Model = Callable[[np.ndarray], np.ndarray]  # ids [batch, seq] -> logits [batch, seq, vocab], or [batch, 1, vocab]


@dataclass(frozen=True)
class Sampling:
    """How a token is chosen: at temperature 0 the likeliest, else one drawn, from all tokens or from the likely ones.

    Raises:
        ValueError: the temperature is negative, infinite or NaN, or ``top_k`` is below 1; the message names it.
    """

    temperature: float = 1.0
    top_k: int | None = None  # None: all tokens

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < np.inf:
            raise ValueError(f"temperature = {self.temperature} is impossible; give 0, or a finite number above it")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k = {self.top_k} leaves no token to choose from; give 1 or more, or None for all")

    def probabilities(self, logits: np.ndarray) -> np.ndarray:  # [batch, vocab] -> [batch, vocab]
        """Return the probability of each token to be drawn, at a temperature above 0; every row adds up to 1.

        A temperature below 1 favors the likely tokens, one above 1 evens them out. With ``top_k``, every token
        below the k-th largest logit gets probability 0; a ``top_k`` above the size of the vocabulary keeps all.
        """
        logits = logits.astype(np.float64)  # in float32, a tiny temperature is 0
        # Put -inf below the k-th largest. Softmax: subtract each row's maximum, divide, exp, normalize. (5 lines)
        if self.top_k is not None and self.top_k < logits.shape[-1]:
            kth_largest = np.partition(logits, -self.top_k, axis=-1)[:, -self.top_k, None]  # [batch, 1]
            logits = np.where(logits < kth_largest, -np.inf, logits)
        powers = np.exp((logits - logits.max(axis=-1, keepdims=True)) / self.temperature)
        return powers / powers.sum(axis=-1, keepdims=True)

    def choose(self, logits: np.ndarray, rng: Generator) -> np.ndarray:  # [batch, vocab] -> [batch]
        """Return one token for every row: the most likely one at temperature 0, else one drawn for this row alone."""
        # At temperature 0 take the largest logit of each row; else draw a token by its probabilities. (3 lines)
        if self.temperature == 0:
            return logits.argmax(axis=-1)
        return np.array([rng.choice(len(row), p=row) for row in self.probabilities(logits)], dtype=np.int64)


def generate_next_token(
    model: Model,
    input_ids: np.ndarray,
    temperature: float = 1.0,
    *,
    top_k: int | None = None,
    rng: Generator | None = None,
) -> np.ndarray:  # [batch, seq] -> [batch]
    """Return the token that comes next in every row; the model sees the whole prompt.

    Raises:
        ValueError: the prompt is empty, or a setting is impossible.
    """
    if input_ids.shape[1] == 0:
        raise ValueError("the prompt is empty; give at least one token, <|endoftext|> if you have no other")
    sampling = Sampling(temperature, top_k)
    rng = rng or default_rng()
    # Run the model, and choose by the logits of the last position. (2 lines)
    logits = model(input_ids)[:, -1]  # [batch, vocab]
    return sampling.choose(logits, rng)


def generate_tokens(
    model: Model,
    input_ids: np.ndarray,
    max_new_tokens: int = 10,
    temperature: float = 1.0,
    *,
    top_k: int | None = None,
    rng: Generator | None = None,
    n_positions: int = 1024,
) -> np.ndarray:  # [batch, seq] -> [batch, seq + max_new_tokens]
    """Return the prompt and ``max_new_tokens`` more.

    The model sees at most the last ``n_positions`` tokens: once the context is full, the oldest token drops out for
    every one that is added.

    Raises:
        ValueError: there is a token to generate, and the prompt is empty or a setting impossible.
    """
    rng = rng or default_rng()  # one for the whole text
    # max_new_tokens times, generate the token after the visible context, and append it to every row. (5 lines)
    for _ in range(max_new_tokens):
        visible = input_ids[:, -n_positions:]
        next_ids = generate_next_token(model, visible, temperature, top_k=top_k, rng=rng)
        input_ids = np.concatenate([input_ids, next_ids[:, None]], axis=1)
    return input_ids
