"""Pack arrays for the browser."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from checker.errors import UserError

Json = dict[str, Any]

LEVELS = np.iinfo(np.uint16).max  # a number is sent as one of 65536 levels between the lowest and the highest


def packed(array: np.ndarray, low: float | None = None, high: float | None = None) -> Json:
    """Return an array as levels between two numbers: its lowest and its highest, unless others are given.

    Raises:
        UserError: a number is infinite or NaN.
    """
    if not np.isfinite(array).all():
        raise UserError("the model's numbers are not all finite, so there is nothing to draw")
    low = float(array.min()) if low is None else low
    high = float(array.max()) if high is None else high
    levels = np.round((array - low) / ((high - low) or 1) * LEVELS).astype("<u2")
    return {"low": low, "high": high, "levels": base64.b64encode(levels.tobytes()).decode()}
