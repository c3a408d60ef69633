"""Warm-up 03: causal attention, where no token sees the future."""

from __future__ import annotations

import numpy as np

from solutions.warmup_01 import context_vectors, softmax
from solutions.warmup_02 import project, scaled_scores


def causal_mask(sequence_length: int) -> np.ndarray:  # -> [seq, seq] of bool
    """Return a matrix that is True at ``[i, j]`` if token ``i`` may attend to token ``j``: if ``j <= i``.

    Step 02's mask of this name says the same in numbers to add to the scores: 0 for True, -inf for False.
    """
    # TODO: Say for every pair of tokens whether i may attend to j. (1 line)
    raise NotImplementedError


def attention_weights(
    query: np.ndarray, key: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:  # [..., query, d_k], [..., key, d_k], [query, key] of bool -> [..., query, key]
    """Return how much every query takes from every key: the softmax of the scaled scores that the mask allows.

    The mask is True where a query may attend to a key, at least once in each row; None allows everything.
    Raise TypeError if its dtype is not bool: a mask of 0 and -inf would be read backward.
    """
    if mask is not None and mask.dtype != bool:
        raise TypeError(f"the mask has dtype {mask.dtype}; it must be bool, True where a query may attend")
    # TODO: Give no weight to what the mask forbids, and let the softmax share it all among the others. (4 lines)
    raise NotImplementedError


def causal_attention(
    x: np.ndarray, W_query: np.ndarray, W_key: np.ndarray, W_value: np.ndarray
) -> np.ndarray:  # [..., seq, d_in], 3 x [d_in, d_out] -> [..., seq, d_out]
    """Attend to the token itself and to earlier tokens only."""
    # TODO: Let every token gather from itself and those before it. (3 lines)
    raise NotImplementedError
