"""Warm-up 03: causal attention, where no token sees the future, and dropout while it learns."""

from __future__ import annotations

import numpy as np

from solutions.warmup_01 import context_vectors, softmax
from solutions.warmup_02 import project, scaled_scores


def lookback_mask(sequence_length: int) -> np.ndarray:  # -> [seq, seq] of bool
    """Return where a token may look: True at [i, j] where token i may attend to token j, itself or before it.

    Step 02's causal_mask says the same in numbers to add: 0 for True, -inf for False.
    """
    # TODO: Keep the lower left triangle, diagonal included, of a square of True. (1 line)
    raise NotImplementedError


def attention_weights(
    query: np.ndarray, key: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:  # [..., query, d_k], [..., key, d_k], [query, key] of bool -> [..., query, key]
    """Return how much every query takes from every key: the softmax of the scaled scores that the mask allows.

    Args:
        query: what is asked.
        key: what is offered.
        mask: True where a query may attend, False where it may not; None allows everything.

    Raises:
        TypeError: the mask is not of bool. A mask of 0 and -inf would be read the wrong way around.
    """
    if mask is not None and mask.dtype != bool:
        raise TypeError(f"mask is of {mask.dtype}; give bool, True where a query may attend")
    # TODO: Scaled scores; -inf where the mask forbids, before the softmax shares out the weight. (4 lines)
    raise NotImplementedError


def dropout(
    x: np.ndarray, p: float, *, training: bool, generator: np.random.Generator | None
) -> np.ndarray:  # [...] -> [...]
    """Zero every element with probability p in training, and scale the rest; otherwise return x.

    Survivors are scaled by 1 / (1 - p), so that the expected sum stays what it was and nothing need
    change after training. Source: Srivastava et al., "Dropout" (2014), in its inverted form.

    Args:
        x: any shape.
        p: the probability of dropping an element, at least 0 and less than 1.
        training: whether to drop at all.
        generator: where the random numbers come from; only training needs one.

    Raises:
        ValueError: p is out of range, or there is no generator to train with.
    """
    if not 0 <= p < 1:
        raise ValueError(f"p = {p} is no probability of dropping; give 0 <= p < 1")
    if training and generator is None:
        raise ValueError("training needs a generator; give np.random.default_rng(seed)")
    # TODO: Not in training, return x; else draw a number for every element, keep those from p up, scale them. (4 lines)
    raise NotImplementedError


def causal_attention(
    x: np.ndarray,
    W_query: np.ndarray,
    W_key: np.ndarray,
    W_value: np.ndarray,
    *,
    p: float = 0.0,
    training: bool = False,
    generator: np.random.Generator | None = None,
) -> np.ndarray:  # [..., seq, d_in], 3 x [d_in, d_out] -> [..., seq, d_out]
    """Attend to earlier tokens only, with weights that dropout thins in training."""
    # TODO: Project, weights under the mask, dropout on the weights, gather the values. (4 lines)
    raise NotImplementedError
