"""Arrays as the browser gets them, and what it is told of a text."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from play.attention_weights import Attention, pattern
from play.pictures import measured, visible

Json = dict[str, Any]

LEVELS = np.iinfo(np.uint16).max  # a number is sent as one of 65536 levels between the lowest and the highest


def packed(array: np.ndarray, low: float | None = None, high: float | None = None) -> Json:
    """Return an array as levels between two numbers, the lowest and the highest of it unless others are given.

    Raises:
        ValueError: a number is infinite or none at all.
    """
    if not np.isfinite(array).all():
        raise ValueError("the model's numbers are not all finite, so there is nothing to draw")
    low = float(array.min()) if low is None else low
    high = float(array.max()) if high is None else high
    levels = np.round((array - low) / ((high - low) or 1) * LEVELS).astype("<u2")
    return {"low": low, "high": high, "levels": base64.b64encode(levels.tobytes()).decode()}


def attention_on(attention: Attention) -> Json:
    """Return the scores and the weights of every head; of the weights, those that the mask allows, row by row."""
    length = len(attention.tokens)
    heads = measured(attention)
    return {
        "tokens": [visible(token) for token in attention.tokens],
        "shape": list(attention.weights.shape[:2]),
        "scores": packed(attention.scores),
        "weights": packed(attention.weights[..., *np.tril_indices(length)], 0, 1),
        "shares": [[{name: round(share, 4) for name, share in head.items()} for head in row] for row in heads],
        "patterns": [[pattern(head) for head in row] for row in heads],
    }
