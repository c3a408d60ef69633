"""The lines that ``--show`` shows: the inputs of the learner's code, and its numbers beside the expected ones.

A trick, ``profile``: a profile hook of Python's, only with ``--show``, notes the inputs of a function.
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

ROWS, COLUMNS = 5, 3  # how many an array shows, three arrays side by side
INPUT_COLUMNS = 9
CELL = 9  # characters of a number, with the space before it
MOST_INPUTS = 4
#: The folders of the functions whose inputs are noted; MAX, in the environment beside them, has the same names.
NOTED = tuple(f"{folder}{os.sep}" for folder in (STEPS, SOLUTIONS, TESTS))


def lines_of(comparison: Comparison) -> list[str]:
    """Return lines with the inputs and, side by side, the learner's numbers, the expected ones and the difference.

    An array with more than two axes shows the last two, at the place of the largest difference.
    """
    actual, expected = comparison.actual, comparison.expected
    difference = _difference(actual, expected)
    worst = tuple(int(index) for index in np.unravel_index(int(difference.argmax()), difference.shape))
    lines: list[str] = []
    for name, array in [*arrays_among(comparison.inputs).items()][:MOST_INPUTS]:
        lead = _leading_index(array.shape, worst, actual.shape)
        at = f", at {in_brackets(lead)}" if lead else ""
        lines += [f"{name} {in_brackets(array.shape)}{at}", *_table(array, lead), ""]
    axes = [f"{axis} {size}" for axis, size in zip(comparison.axes, actual.shape, strict=True)]
    where = index_in_words(worst, comparison.axes) or "the number"
    lines.append(f"{comparison.what} {in_brackets(axes)}; > marks the largest difference, at {where}")
    return lines + _side_by_side({"yours": actual, comparison.whose: expected, "difference": difference}, worst)


def _difference(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return the distance of two arrays at each place: infinite where one of them is NaN."""
    with np.errstate(invalid="ignore"):  # where both are infinite
        difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    return np.where(actual == expected, 0, np.where(np.isnan(difference), np.inf, difference))


def _side_by_side(arrays: Mapping[str, np.ndarray], worst: tuple[int, ...]) -> list[str]:
    """Return lines with several arrays of one shape, by their titles, side by side, around the ``worst`` place."""
    tables = [np.atleast_2d(array)[worst[:-2]] for array in arrays.values()]
    marked = (0, 0, *worst)[-2:]  # a row and a column, of a single number too
    rows = _range_around(marked[0], tables[0].shape[0], ROWS)
    columns = _range_around(marked[1], tables[0].shape[1], COLUMNS)
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


def _leading_index(shape: tuple[int, ...], place: tuple[int, ...], compared_shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index, without the last two axes, at which an input is shown: that of a place in the result, or zeros.

    If an axis of the input is shorter, such as one key head for a group of query heads, its indices are shared evenly.
    """
    count = max(0, len(shape) - 2)
    axes = [*zip(place, shape, compared_shape, strict=False)][:count]
    fits = len(axes) == count and all(whole % size == 0 for _, size, whole in axes)
    return tuple(index * size // whole for index, size, whole in axes) if fits else (0,) * count


def _range_around(index: int, size: int, count: int) -> range:
    """Return up to ``count`` indices of an axis around one of them."""
    first = max(0, min(index - count // 2, size - count))
    return range(first, min(size, first + count))


def _table(array: np.ndarray, lead: tuple[int, ...]) -> list[str]:
    """Return lines with the first rows and columns of an array, at a leading index."""
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
    """While this is open, note for comparisons the arguments of the last call of a function of a step, by parameter.

    A call that the function makes of itself does not count. A tensor is noted as it is: its numbers may not have been
    computed yet.
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
    """The last call of a function of a step.

    Attributes:
        function: the name of the function.
        inputs: the arguments, by parameter.
        running: the frame of the call, until it returns.
    """

    def __init__(self, function: str) -> None:
        self.function = function
        self.inputs: dict[str, Any] = {}
        self.running: FrameType | None = None

    def note(self, frame: FrameType, event: str, argument: object) -> None:
        """Note a call of the function; Python calls this at each ``call`` and ``return`` of any function."""
        if event == "return" and frame is self.running:
            self.running = None
        elif event == "call" and self.running is None and self._is_noted(frame.f_code):
            self.running = frame
            self.inputs.clear()
            count = frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount
            for name in frame.f_code.co_varnames[:count]:
                self.inputs[name] = frame.f_locals[name]

    def _is_noted(self, code: CodeType) -> bool:
        """Return whether code is the function's, in a folder of steps."""
        return code.co_name == self.function and code.co_filename.startswith(NOTED)
