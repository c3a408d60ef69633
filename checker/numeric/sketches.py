"""Sketches: a few numbers that tell an array from others, and stay the same if it was rounded differently.

An array of more than :data:`GROUPS` elements is drawn into that many groups, and every group is added up with random
signs. A single element that differs changes one sum by as much, and rounding errors cancel out. This is the "count
sketch" of Charikar, Chen and Farach-Colton, "Finding frequent items in data streams" (2002).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from checker.numeric.comparison import equal_within, must_be_exact
from checker.numeric.tolerance import TOLERANCE

GROUPS = 64


@dataclass(frozen=True, eq=False)
class Sketch:
    """The sketch of an array.

    Args:
        dtype: the name of its dtype.
        shape: its shape.
        odd: a digest of the places where it is NaN or infinite; empty if there are none.
        sums: the sums of its finite numbers, by group; float32.
        overflows: whether other numbers, or any at all, are NaN or infinite on another processor.
    """

    dtype: str
    shape: tuple[int, ...]
    odd: str
    sums: np.ndarray
    overflows: bool = False

    def __eq__(self, other: object) -> bool:
        """Return whether a check takes two arrays as equal, as far as their sketches say."""
        if not isinstance(other, Sketch):
            return NotImplemented
        if (self.dtype, self.shape) != (other.dtype, other.shape):
            return False
        if (self.overflows and other.odd) or (other.overflows and self.odd):
            return True
        if self.odd != other.odd:
            return False
        if must_be_exact(self.dtype):
            return np.array_equal(self.sums, other.sums)
        return equal_within(TOLERANCE, self.sums, other.sums)


def sketch(array: np.ndarray) -> Sketch:
    """Return the sketch of an array of any shape; if it holds no numbers, a sketch of dtype and shape alone."""
    numbers: np.ndarray = array.ravel().astype(np.float64) if array.dtype.kind in "biuf" else np.empty(0)
    finite = np.isfinite(numbers)
    odd = ""
    if not finite.all():
        kinds = np.select([finite, np.isnan(numbers), numbers > 0], [0, 1, 2], 3).astype(np.uint8)
        odd = hashlib.blake2b(kinds.tobytes(), digest_size=8).hexdigest()
        numbers = np.where(finite, numbers, 0.0)
    if numbers.size > GROUPS:
        groups, signs = _groups_and_signs(numbers.size)
        numbers = np.bincount(groups, weights=signs * numbers, minlength=GROUPS)
    with np.errstate(over="ignore"):
        return Sketch(array.dtype.name, array.shape, odd, numbers.astype(np.float32))


@lru_cache(maxsize=4)
def _groups_and_signs(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a group and a sign for each of ``size`` elements; NumPy promises that ``RandomState`` never changes."""
    random = np.random.RandomState(size)
    return random.randint(GROUPS, size=size, dtype=np.uint8), 1.0 - 2.0 * random.randint(2, size=size, dtype=np.uint8)
