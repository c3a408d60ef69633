"""What ``--show`` shows: what a claim gave the learner's code, and the numbers beside the expected ones."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
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
    with np.errstate(invalid="ignore"):  # where both are infinite
        difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    difference = np.where(actual == expected, 0, np.where(np.isnan(difference), np.inf, difference))
    worst = tuple(int(index) for index in np.unravel_index(int(difference.argmax()), difference.shape))
    lines: list[str] = []
    for name, array in [*arrays_among(comparison.inputs).items()][:MOST_INPUTS]:
        lead = _lead(array.shape, worst, actual.shape)
        lines += [
            f"{name} {in_brackets(array.shape)}{f', at {in_brackets(lead)}' if lead else ''}",
            *_table(array, lead),
            "",
        ]
    axes = [f"{axis} {size}" for axis, size in zip(comparison.axes, actual.shape, strict=True)]
    where = index_in_words(worst, comparison.axes) or "the number"
    lines.append(f"{comparison.what} {in_brackets(axes)}; > marks the largest difference, at {where}")
    parts = [np.atleast_2d(array)[worst[:-2]] for array in (actual, expected, difference)]
    marked = (0, 0, *worst)[-2:]
    rows = _around(marked[0], parts[0].shape[0], ROWS)
    columns = _around(marked[1], parts[0].shape[1], COLUMNS)
    titles = ("yours", comparison.whose, "difference")
    width = CELL * len(columns)
    lines.append(" " * 5 + "  ".join(title[:width].center(width) for title in titles))
    lines.append(" " * 5 + "  ".join("".join(f"{column:{CELL}}" for column in columns) for _ in titles))
    for row in rows:
        blocks = ("".join(_cell(part[row, column], (row, column) == marked) for column in columns) for part in parts)
        lines.append(f"{row:4} " + "  ".join(blocks))
    return lines


def _lead(shape: tuple[int, ...], place: tuple[int, ...], compared: tuple[int, ...]) -> tuple[int, ...]:
    """Return where the last two axes of an array are shown: at the place in what is compared, or at its beginning.

    Where an axis has fewer places, such as one key head for a group of query heads, each is for equally many.
    """
    count = max(0, len(shape) - 2)
    axes = [*zip(place, shape, compared, strict=False)][:count]
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
    running: list[FrameType] = []
    inputs: dict[str, Any] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "return" and running == [frame]:
            running.clear()
        elif event == "call" and not running and code.co_name == function and code.co_filename.startswith(NOTED):
            running.append(frame)
            inputs.clear()
            inputs.update((name, frame.f_locals[name]) for name in code.co_varnames[: code.co_argcount])

    before = last_inputs.set(inputs)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        last_inputs.reset(before)
