"""What ``--show`` shows: what a claim gave the learner's code, and the numbers beside the expected ones.

A trick, ``profile``: a profile hook of Python's, only with ``--show``, notes what a function is given.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import numpy as np

from checker.course.steps import SOLUTIONS, STEPS, TESTS
from checker.numeric.comparison import Comparison, arrays_among, in_brackets, index_in_words, last_inputs

ROWS, COLUMNS = 5, 3  # of an array that are shown, three times side by side
INPUT_COLUMNS = 9
CELL = 9  # characters of a number, with the space before it
MOST_INPUTS = 4
#: Where the functions are whose inputs are noted. MAX, in the environment beside these folders, has the same names.
NOTED = tuple(f"{folder}{os.sep}" for folder in (STEPS, SOLUTIONS, TESTS))


def shown(comparison: Comparison) -> list[str]:
    """Return the inputs, and yours, the expected numbers and the difference side by side, as lines.

    Of arrays with more than two axes, the last two are shown, where the difference is largest.
    """
    actual, expected = comparison.actual, comparison.expected
    difference = _difference(actual, expected)
    worst = tuple(int(index) for index in np.unravel_index(int(difference.argmax()), difference.shape))
    lines: list[str] = []
    for name, array in [*arrays_among(comparison.inputs).items()][:MOST_INPUTS]:
        lead = _lead(array.shape, worst, actual.shape)
        at = f", at {in_brackets(lead)}" if lead else ""
        lines += [f"{name} {in_brackets(array.shape)}{at}", *_table(array, lead), ""]
    axes = [f"{axis} {size}" for axis, size in zip(comparison.axes, actual.shape, strict=True)]
    where = index_in_words(worst, comparison.axes) or "the number"
    lines.append(f"{comparison.what} {in_brackets(axes)}; > marks the largest difference, at {where}")
    return lines + _side_by_side({"yours": actual, comparison.whose: expected, "difference": difference}, worst)


def _difference(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return how far two arrays are apart: infinitely where one of them is NaN."""
    with np.errstate(invalid="ignore"):  # where both are infinite
        difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    return np.where(actual == expected, 0, np.where(np.isnan(difference), np.inf, difference))


def _side_by_side(arrays: Mapping[str, np.ndarray], worst: tuple[int, ...]) -> list[str]:
    """Return lines with arrays of one shape, by title, around the ``worst`` place."""
    tables = [np.atleast_2d(array)[worst[:-2]] for array in arrays.values()]
    marked = (0, 0, *worst)[-2:]  # a row and a column, of a single number too
    rows = _around(marked[0], tables[0].shape[0], ROWS)
    columns = _around(marked[1], tables[0].shape[1], COLUMNS)
    width = CELL * len(columns)
    header = "".join(f"{column:{CELL}}" for column in columns)
    lines = [
        " " * 5 + "  ".join(title[:width].center(width) for title in arrays),
        " " * 5 + "  ".join([header] * len(tables)),
    ]
    for row in rows:
        blocks = ["".join(_cell(table[row, column], (row, column) == marked) for column in columns) for table in tables]
        lines.append(f"{row:4} " + "  ".join(blocks))
    return lines


def _lead(shape: tuple[int, ...], place: tuple[int, ...], compared_shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return where the last two axes of an array are shown: at the place in what is compared, or at its beginning.

    Where an axis has fewer places, such as one key head for a group of query heads, each is for equally many.
    """
    count = max(0, len(shape) - 2)
    axes = [*zip(place, shape, compared_shape, strict=False)][:count]
    fits = len(axes) == count and all(whole % size == 0 for _, size, whole in axes)
    return tuple(index * size // whole for index, size, whole in axes) if fits else (0,) * count


def _around(index: int, size: int, count: int) -> range:
    first = max(0, min(index - count // 2, size - count))
    return range(first, min(size, first + count))


def _table(array: np.ndarray, lead: tuple[int, ...]) -> list[str]:
    part = np.atleast_2d(array)[lead]
    dots = "  …" if part.shape[1] > INPUT_COLUMNS else ""
    lines = [f"{row:4} " + "".join(map(_cell, part[row, :INPUT_COLUMNS])) + dots for row in range(len(part[:ROWS]))]
    return [*lines, " " * 5 + "…"] if len(part) > ROWS else lines


def _cell(number: np.generic, marked: bool = False) -> str:
    """Return a number in a cell, with a mark before the worst."""
    value = number.item()
    text = _in_digits(value) if isinstance(value, float) else str(value)
    return f"{'>' if marked else ''}{text}".rjust(CELL)


def _in_digits(value: float) -> str:
    """Return a number in at most eight characters: with four decimals, six digits or, very large or small, two."""
    size = abs(value)
    if size == 0 or 1e-3 <= size < 100:
        return f"{value:.4f}"
    return f"{value:#.6g}" if 100 <= size < 1e5 else f"{value:.1e}"


@contextmanager
def noting_inputs(function: str) -> Iterator[None]:
    """While this is open, note for comparisons what a function of a step was last called with, by parameter.

    The last call counts, of those that no other call of that function has made. A tensor is noted as it is: its numbers
    may not have been computed yet.
    """
    last_call = _LastCall(function)
    before = last_inputs.set(last_call.inputs)
    sys.setprofile(last_call.note)
    try:
        yield
    finally:
        sys.setprofile(None)
        last_inputs.reset(before)


class _LastCall:
    """What a function of a step was last called with.

    Attributes:
        function: its name.
        inputs: by parameter.
        running: the frame of that call, until it returns.
    """

    def __init__(self, function: str) -> None:
        self.function = function
        self.inputs: dict[str, Any] = {}
        self.running: FrameType | None = None

    def note(self, frame: FrameType, event: str, argument: object) -> None:
        """Take what Python tells a profiler: a ``call`` or a ``return``, of whatever runs, and its frame."""
        if event == "return" and frame is self.running:
            self.running = None
        elif event == "call" and self.running is None and self._is_noted(frame.f_code):
            self.running = frame
            self.inputs.clear()
            for name in frame.f_code.co_varnames[: frame.f_code.co_argcount]:
                self.inputs[name] = frame.f_locals[name]

    def _is_noted(self, code: CodeType) -> bool:
        return code.co_name == self.function and code.co_filename.startswith(NOTED)
