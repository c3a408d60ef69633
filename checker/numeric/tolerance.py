"""How close is equal: the one tolerance of the course."""

from __future__ import annotations

import numpy as np

#: Largest accepted difference, for numbers of size one; larger numbers may differ in proportion.
#: Over every claim of the course, MAX and Hugging Face differ by at most 1.1e-6 in these terms (float32,
#: sums in another order); the smallest mistake there is, exact instead of tanh GELU, makes 4.7e-4.
TOLERANCE = 2e-5


def close(actual: np.ndarray, expected: np.ndarray, tolerance: float = TOLERANCE) -> bool:
    """Return whether two arrays of one shape are equal within ``tolerance``; NaN equals NaN, infinity itself."""
    size = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    return bool(np.allclose(actual, expected, rtol=0, atol=tolerance * float(size), equal_nan=True))
