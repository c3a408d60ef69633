"""Compare arrays: whether they are equal and, from the pattern of wrong numbers, where and how they differ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from typing import Any

import numpy as np

from checker.numeric.tolerance import TOLERANCE, tolerance_in_force

OTHER_ORDER = (
    "The numbers are right, but their order is not: look at the reshapes and transposes, and at the order of what is "
    "split or joined."
)
HUGGING_FACE = "Hugging Face's"  # whose numbers yours are compared with, unless a claim says otherwise
LEAST_ONE, ABOVE_ONE = 0.99995, 1.0005  # a factor between them is 1 in the four digits that are shown
PLURALS = {"query": "queries", "batch": "batches", "class": "classes", "in": "inputs", "out": "outputs"}

#: With ``--show``, what the learner's function was last called with, while a claim runs.
last_inputs: ContextVar[Mapping[str, Any] | None] = ContextVar("last_inputs", default=None)


def noted_inputs() -> dict[str, Any]:
    """Return a copy of what is noted now: the function may be called again."""
    return {**(last_inputs.get() or {})}


def close(actual: np.ndarray, expected: np.ndarray, tolerance: float = TOLERANCE) -> bool:
    """Return whether a claim takes two arrays of one shape as equal, on the device in force: see ``equal_within``."""
    return equal_within(tolerance_in_force(tolerance), actual, expected)


def equal_within(tolerance: float, actual: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether two arrays of one shape are equal: whole numbers and booleans exactly, others up to ``tolerance``.

    NaN equals NaN, infinity itself.
    """
    if must_be_exact(expected.dtype.name):
        return np.array_equal(actual, expected)
    return bool(np.allclose(actual, expected, rtol=0, atol=room_of(expected, tolerance), equal_nan=True))


def must_be_exact(dtype: str) -> bool:
    """Return whether arrays of a dtype hold ids, counts, bytes or booleans, of which a neighbor is just as wrong."""
    return dtype.startswith(("int", "uint", "bool"))


def room_of(expected: np.ndarray, tolerance: float) -> float:
    """Return how far numbers may be from ``expected``: in proportion to the largest finite one, if that is above 1."""
    size = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    return tolerance * float(size)


@dataclass(frozen=True)
class Comparison:
    """Two arrays of one shape that a claim compared, within which tolerance, and what the learner's code was given."""

    what: str
    actual: np.ndarray
    expected: np.ndarray
    axes: Sequence[str]
    whose: str
    inputs: Mapping[str, Any]
    tolerance: float

    @property
    def room(self) -> float:
        """How far an actual number may be from the expected one; for whole numbers less than the next one is."""
        room = room_of(self.expected, self.tolerance)
        return min(room, 0.5) if self.is_exact else room

    @property
    def is_exact(self) -> bool:
        """Whether the numbers must be the same, and the distance of two of them means nothing."""
        return must_be_exact(self.expected.dtype.name)

    @property
    def expected_in_words(self) -> str:
        """The words for the expected numbers in ``yours is 2 times …``."""
        return "what it must be" if self.whose == "it must be" else self.whose.removesuffix(":")

    def copied_input(self) -> str:
        """Return the name of the input that the result equals, or nothing; zeros and ones may be equal by accident."""
        if np.unique(self.actual).size <= 2:
            return ""
        for name, array in arrays_among(self.inputs).items():
            if array.shape == self.actual.shape and equal_within(TOLERANCE, array, self.actual):
                return name
        return ""

    @cached_property
    def pattern(self) -> str:
        """A sentence or two on where or how arrays differ, NaN and infinity aside; or nothing."""
        finite = np.isfinite(self.expected) & np.isfinite(self.actual)
        actual = np.where(finite, self.actual, 0).astype(np.float64)
        expected = np.where(finite, self.expected, 0).astype(np.float64)
        every = tuple(range(expected.ndim))
        if not every:
            return ""
        if not self.actual.any():
            return "Your result is all zeros."
        if offset := self._common_offset(actual, expected, every):
            return offset
        if order := self._other_order(actual, expected, every):
            return order
        where = self._where(np.abs(actual - expected))
        for count in range(len(every) - 1, 0, -1):
            for over in combinations(every, count):
                if offset := self._common_offset(actual, expected, over):
                    return f"{where} {offset}".strip()
        return where

    def _other_order(self, actual: np.ndarray, expected: np.ndarray, every: tuple[int, ...]) -> str:
        """Return a sentence if the numbers are right, but in another order; ``every`` has all axes."""
        for order in permutations(every):
            transposed = expected.transpose(order).reshape(expected.shape)
            if order != every and np.allclose(transposed, actual, rtol=0, atol=self.room):
                names = ", ".join(self.axes[axis] for axis in order)
                return f"The numbers are right, but in the order ({names}): one transpose too few or too many."
        if np.allclose(np.sort(actual, axis=None), np.sort(expected, axis=None), rtol=0, atol=self.room):
            return OTHER_ORDER
        return ""

    def _common_offset(self, actual: np.ndarray, expected: np.ndarray, over: tuple[int, ...]) -> str:
        """Return a sentence if all numbers along the axes ``over`` are off by the same factor or amount."""
        if not self._has_enough_numbers(expected, over):
            return ""
        axis_names = " and ".join(name for axis, name in enumerate(self.axes) if axis not in over)
        subject = f"Each {axis_names} is off by its own" if axis_names else "Everything is off by one"
        squares = (expected * expected).sum(over, keepdims=True)
        factor = (actual * expected).sum(over, keepdims=True) / np.where(squares, squares, 1)
        room = self.room * min(1, np.abs(factor).max())
        is_one = np.all((factor >= LEAST_ONE) & (factor < ABOVE_ONE))
        if np.abs(actual - factor * expected).max() <= room and not is_one:
            if np.all(np.isclose(factor, 1) | np.isclose(factor, 0)):
                return "Where it is wrong, yours is 0."
            if factor.min() < 0 < factor.max() and np.ptp(np.abs(factor)) > room:
                return ""  # nobody multiplies like that
            return f"{subject} factor: yours is {_range(factor)} times {self.expected_in_words}."
        gaps = actual - expected
        amount = gaps.mean(over, keepdims=True)
        if np.abs(gaps - amount).max() <= room:
            return f"{subject} amount: {_range(amount, '+')}."
        return ""

    def _has_enough_numbers(self, expected: np.ndarray, over: tuple[int, ...]) -> bool:
        """Return whether a common factor or amount along the axes ``over`` would be no accident.

        A single number is always off by some factor, however often it occurs, and two numbers, or two rows of equal
        numbers, often seem to be.
        """
        if np.unique(expected[np.abs(expected) > self.room]).size < 2:
            return False
        if len(over) == expected.ndim:
            return True
        count = math.prod(expected.shape[axis] for axis in over)
        return count > 2 and bool(np.median(np.ptp(expected, axis=over)) > self.room)

    def _where(self, gaps: np.ndarray) -> str:
        """Return a sentence if some indices of an axis are right throughout, and others are not."""
        for axis in range(gaps.ndim):
            worst = gaps.max(axis=tuple(other for other in range(gaps.ndim) if other != axis))
            if worst.min() <= self.room < worst.max():
                return self._where_along(axis, worst)
        return ""

    def _where_along(self, axis: int, worst: np.ndarray) -> str:
        """Return as a sentence which indices of an axis are right; ``worst`` has the largest gap at each index."""
        name = self.axes[axis]
        right, wrong = np.flatnonzero(worst <= self.room), np.flatnonzero(worst > self.room)
        is_float = self.expected.dtype.kind == "f"
        grows = is_float and len(wrong) > 1 and np.corrcoef(worst, range(len(worst)))[0, 1] > 0.8
        more = ", and later ones are further off" if grows else ""
        if len(right) == 1:
            is_zero = np.abs(self.expected.take(right, axis)).max() <= self.room
            zeros = ", where every number must be 0," if is_zero else ""  # this says little of the rest
            return f"Only {_index_along(name, right[0], len(worst))}{zeros} is right{more}."
        if len(wrong) == 1:
            return f"Only {_index_along(name, wrong[0], len(worst))} is wrong{more}."
        if name == "token":  # a token's id is a number, too
            return f"The numbers are right at positions {_in_words(right)}, wrong at {_in_words(wrong)}{more}."
        names = PLURALS.get(name, f"{name}s")
        return f"The numbers are right for {names} {_in_words(right)}, wrong for {_in_words(wrong)}{more}."

    def tendency(self) -> str:
        """Return a sentence on numbers that neither a mistake's name nor a pattern explains; or nothing."""
        actual, expected = self.actual.astype(np.float64), self.expected.astype(np.float64)
        odd = actual[~np.isfinite(actual)]
        if odd.size and np.isneginf(odd).all():
            return "Minus infinity comes from a mask, or from the logarithm of 0."
        if odd.size:
            return "exp of a large number is infinite; 0/0, 0 * inf, inf/inf and inf - inf are NaN."
        if not expected.ndim or self.is_exact or self.pattern:
            return ""
        sums, hidden = actual.sum(axis=-1), expected == 0
        if np.allclose(expected.sum(axis=-1), 1) and not np.allclose(sums, 1, atol=1e-4):
            return f"Rows must add up to 1; yours add up to {_range(sums)}."
        if shown := int(np.count_nonzero(actual[hidden])):
            return f"{shown} of the {int(hidden.sum())} numbers that must be 0 are not."
        *others, last = self.axes
        where = f"{', '.join(others)} or {last}" if others else last
        if not np.ptp(actual) or not np.ptp(expected):  # a constant has no correlation
            return f"No {where} is right throughout."
        likeness = float(np.corrcoef(actual.ravel(), expected.ravel())[0, 1])
        return f"No {where} is right throughout; yours and the right numbers have a correlation of {likeness:.2f}."

    def not_finite(self) -> str:
        """Return as a sentence where arrays differ in NaN or infinity: at first, where one of them has a number."""
        actual, expected = self.actual, self.expected
        if not expected.ndim:
            return f"{self.what} is {actual}, and must be {expected:.5g}."
        wrong = ~np.isfinite(actual) & np.isfinite(expected)
        are = "are NaN or infinite"
        if not wrong.any():  # then only the expected ones are, which the learner's code may have returned before
            wrong = np.isfinite(actual) & ~np.isfinite(expected)
            are = f"are neither NaN nor infinite, unlike {self.whose}"
        if not wrong.any():  # then one has NaN, or an infinity, where the other has another
            wrong = ~((actual == expected) | np.isnan(actual) & np.isnan(expected)) & ~np.isfinite(expected)
            are = f"are NaN or infinite, and differ from {self.whose}"
        first = index_in_words(np.unravel_index(int(wrong.argmax()), wrong.shape), self.axes)
        return f"In {self.what}, {int(wrong.sum())} of {actual.size} values {are}, the first at {first}."

    def difference(self) -> str:
        """Return as a sentence where the arrays differ most, or first if they hold ids, positions or booleans."""
        actual, expected = np.nan_to_num(self.actual), np.nan_to_num(self.expected)
        if not expected.ndim:
            whose = "" if self.whose.startswith("it ") else f" ({self.whose.rstrip(' =:')})"
            times = f": yours is {float(actual / expected):.4g} times as much" if actual and expected else ""
            digits = 15 if self.is_exact else 5
            wrong, right = f"{float(actual):.{digits}g}", f"{float(expected):.{digits}g}"
            return f"{self.what.rstrip(',')} is {wrong}, and must be {right}{whose}{times}."
        gaps = actual != expected if self.is_exact else np.abs(actual - expected)
        index = np.unravel_index(int(gaps.argmax()), gaps.shape)
        if self.is_exact:
            place = " of ".join(reversed(index_in_words(index, self.axes).split(", ")))
            return f"In {self.what.removesuffix(',')}, {place} is {actual[index]}, and must be {expected[index]}."
        return (
            f"The largest difference is {gaps[index]:.3g}, at {index_in_words(index, self.axes)}: "
            f"yours {actual[index]:.5g}, {self.whose} {expected[index]:.5g}."
        )


def arrays_among(inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the inputs that are arrays, or tensors with numbers."""
    arrays: dict[str, np.ndarray] = {}
    for name, value in inputs.items():
        with suppress(Exception):  # a tensor may stand for numbers that only a whole graph can give
            array = np.from_dlpack(value) if hasattr(value, "__dlpack__") else None
            if array is not None and array.size:
                arrays[name] = array
    return arrays


def _range(numbers: np.ndarray, sign: str = "") -> str:
    """Return the smallest and the largest number as text; ``sign`` is the sign option of Python's format."""
    low, high = f"{numbers.min():{sign}.4g}", f"{numbers.max():{sign}.4g}"
    return low if low == high else f"{low} to {high}"


def _index_along(axis: str, index: np.intp, size: int) -> str:
    """Return one index of an axis in words: the first, the last, or by its number."""
    if index == size - 1:
        return f"the last {axis}"
    if index == 0:
        return f"the first {axis}"
    return f"the token at position {index}" if axis == "token" else f"{axis} {index}"


def _in_words(indices: np.ndarray) -> str:
    """Return ascending indices in words: ``2 to 5``, or the first six of them."""
    if len(indices) > 2 and np.all(np.diff(indices) == 1):
        return f"{indices[0]} to {indices[-1]}"
    return ", ".join(map(str, indices[:6])) + (", …" if len(indices) > 6 else "")


def index_in_words(index: Sequence[int | np.intp], axes: Sequence[str]) -> str:
    """Return an index in words: ``batch 0, token 3``."""
    return ", ".join(f"{axis} {int(at)}" for axis, at in zip(axes, index, strict=True))


def in_brackets(sizes: Iterable[object]) -> str:
    """Return a shape or an index as a sentence shows it: ``[2, 7, 15]``."""
    return f"[{', '.join(map(str, sizes))}]"
