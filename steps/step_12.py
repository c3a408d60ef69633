"""Step 12: generation, one token after another. It is NumPy around a model that is already compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

Model = Callable[[np.ndarray], np.ndarray]  # token ids [batch, seq] -> logits [batch, seq, vocab]


def check_settings(input_ids: np.ndarray, temperature: float, top_k: int | None) -> None:  # [batch, seq]
    """Refuse what generation could only answer with nonsense.

    Raises:
        ValueError: the prompt has no token, the temperature is negative, or ``top_k`` is below 1; the
            message names the prompt, temperature or top_k.
    """
    # TODO: Three conditions, each with a message of its own that says what to give instead. (6 lines)
    raise NotImplementedError


def next_token_probabilities(
    logits: np.ndarray, *, temperature: float = 1.0, top_k: int | None = None
) -> np.ndarray:  # [batch, vocab] -> [batch, vocab]
    """Return how likely each token is to come next; every row adds up to 1.

    A temperature below 1 favors the likely tokens, one above 1 the others. With ``top_k``, the
    tokens below the k-th largest logit are out, and the rest share their probability; a ``top_k``
    above the size of the vocabulary keeps them all.
    """
    logits = logits.astype(np.float64)
    # TODO: Divide by the temperature, put -inf where a logit is below the k-th, and take a softmax. (6 lines)
    raise NotImplementedError


def generate_next_token(
    model: Model,
    input_ids: np.ndarray,
    temperature: float = 1.0,
    do_sample: bool = True,
    *,
    top_k: int | None = None,
    rng: np.random.Generator | None = None,
) -> np.ndarray:  # [batch, seq] -> [batch]
    """Draw the token that comes next in every row, with ``rng``.

    Take the most likely one, without drawing, if ``do_sample`` is false or the temperature is 0.

    Raises:
        ValueError: as :func:`check_settings` says.
    """
    check_settings(input_ids, temperature, top_k)
    rng = rng or np.random.default_rng()
    # TODO: Take the logits of the last position; per row, the largest or one drawn by its probability. (5 lines)
    raise NotImplementedError


def stream_tokens(
    model: Model,
    input_ids: np.ndarray,
    max_new_tokens: int = 10,
    temperature: float = 1.0,
    do_sample: bool = True,
    *,
    top_k: int | None = None,
    rng: np.random.Generator | None = None,
    n_positions: int = 1024,
) -> Iterator[np.ndarray]:  # [batch, seq] -> max_new_tokens times [batch]
    """Yield one new token for every row, again and again, each as soon as it is known.

    The model sees at most the last ``n_positions`` tokens: once the context is full, the oldest
    token drops out for every one that is added.

    Raises:
        ValueError: as :func:`check_settings` says.
    """
    rng = rng or np.random.default_rng()
    # TODO: As often as asked: the next token of what the model can see, yield it, append it. (5 lines)
    raise NotImplementedError


def generate_tokens(
    model: Model,
    input_ids: np.ndarray,
    max_new_tokens: int = 10,
    temperature: float = 1.0,
    do_sample: bool = True,
    *,
    top_k: int | None = None,
    rng: np.random.Generator | None = None,
    n_positions: int = 1024,
) -> np.ndarray:  # [batch, seq] -> [batch, seq + max_new_tokens]
    """Return the prompt and what follows it: :func:`stream_tokens`, gathered into one array.

    Raises:
        ValueError: as :func:`check_settings` says.
    """
    check_settings(input_ids, temperature, top_k)
    settings = (max_new_tokens, temperature, do_sample)
    # TODO: Put the prompt and every streamed token side by side. (2 lines)
    raise NotImplementedError
