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
    # Three conditions, each with a message of its own that says what to give instead. (6 lines)
    if input_ids.shape[-1] == 0:
        raise ValueError("the prompt is empty; give at least one token, <|endoftext|> if you have no other")
    if temperature < 0:
        raise ValueError(f"temperature = {temperature} is negative; give 0 for the most likely token, or more")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k = {top_k} leaves no token to choose from; give 1 or more, or None for all")


def next_token_probabilities(
    logits: np.ndarray, *, temperature: float = 1.0, top_k: int | None = None
) -> np.ndarray:  # [batch, vocab] -> [batch, vocab]
    """Return how likely each token is to come next; every row adds up to 1.

    A temperature below 1 favors the likely tokens, one above 1 the others. With ``top_k``, the
    tokens below the k-th largest logit are out, and the rest share their probability; a ``top_k``
    above the size of the vocabulary keeps them all.
    """
    logits = logits.astype(np.float64)
    # Divide by the temperature, put -inf where a logit is below the k-th, and take a softmax. (6 lines)
    logits = logits / temperature
    if top_k is not None and top_k < logits.shape[-1]:
        kth_largest = np.sort(logits, axis=-1)[:, -top_k, None]
        logits = np.where(logits < kth_largest, -np.inf, logits)
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


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
    # Take the logits of the last position; per row, the largest or one drawn by its probability. (5 lines)
    logits = model(input_ids)[:, -1]
    if temperature == 0 or not do_sample:
        return logits.argmax(axis=-1)
    probabilities = next_token_probabilities(logits, temperature=temperature, top_k=top_k)
    return np.array([rng.choice(len(row), p=row) for row in probabilities])


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
    # As often as asked: the next token of what the model can see, yield it, append it. (5 lines)
    for _ in range(max_new_tokens):
        visible = input_ids[:, -n_positions:]
        next_ids = generate_next_token(model, visible, temperature, do_sample, top_k=top_k, rng=rng)
        yield next_ids
        input_ids = np.concatenate([input_ids, next_ids[:, None]], axis=1)


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
    # Put the prompt and every streamed token side by side. (2 lines)
    streamed = stream_tokens(model, input_ids, *settings, top_k=top_k, rng=rng, n_positions=n_positions)
    return np.concatenate([input_ids, *(next_ids[:, None] for next_ids in streamed)], axis=1)
