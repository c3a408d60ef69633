"""Show numbers beside the expected ones: the worst place and what surrounds it."""

from __future__ import annotations

import numpy as np

from checker.numeric.patterns import Comparison

ROWS, COLUMNS = 5, 3  # of an array that are shown, three times side by side
INPUT_COLUMNS = 9
CELL = 9  # characters of a number, with the space before it


def shown(comparison: Comparison) -> list[str]:
    """Return the inputs, and yours, the expected numbers and the difference side by side, as lines.

    Of arrays with more than two axes, the last two are shown, where the difference is largest.
    """
    actual, expected = comparison.actual, comparison.expected
    difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    difference = np.where(np.isnan(difference), np.inf, difference)
    worst = np.unravel_index(int(difference.argmax()), difference.shape) if difference.ndim else ()
    at = tuple(int(index) for index in worst)
    lines: list[str] = []
    for name, array in comparison.inputs.items():
        at_lead = f", at {list(lead)}" if (lead := _lead(array, at)) else ""
        lines += [f"{name} {list(array.shape)}{at_lead}", *_table(array, at), ""]
    axes = [f"{axis} {size}" for axis, size in zip(comparison.axes, actual.shape, strict=True)]
    place = ", ".join(f"{axis} {index}" for axis, index in zip(comparison.axes, at, strict=True))
    lines.append(f"{comparison.what} [{', '.join(axes)}]; > marks the largest difference, at {place or 'the number'}")
    rows, columns = _window(actual, at)
    titles = ("yours", comparison.whose, "difference")
    width = CELL * len(columns)
    lines.append(" " * 5 + "  ".join(title[:width].center(width) for title in titles))
    lines.append(" " * 5 + "  ".join("".join(f"{column:{CELL}}" for column in columns) for _ in titles))
    parts = [_last_two(array, at) for array in (actual, expected, difference)]
    marked = (at[-2] if len(at) > 1 else 0, at[-1] if at else 0)
    for row in rows:
        blocks = ("".join(_cell(part[row, column], (row, column) == marked) for column in columns) for part in parts)
        lines.append(f"{row:4} " + "  ".join(blocks))
    return lines


def _lead(array: np.ndarray, at: tuple[int, ...]) -> tuple[int, ...]:
    """Return where the last two axes of an array are shown: at a place, if the array has it, else at its beginning."""
    lead = at[: max(0, array.ndim - 2)]
    fits = len(lead) == array.ndim - 2 and all(index < size for index, size in zip(lead, array.shape, strict=False))
    return lead if fits else (0,) * max(0, array.ndim - 2)


def _last_two(array: np.ndarray, at: tuple[int, ...]) -> np.ndarray:
    """Return an array's last two axes, at a place along the others."""
    return np.atleast_2d(array)[_lead(array, at)]


def _window(array: np.ndarray, at: tuple[int, ...]) -> tuple[range, range]:
    """Return the rows and columns that are shown around a place."""
    rows, columns = np.atleast_2d(array).shape[-2:]
    return _around(at[-2] if len(at) > 1 else 0, rows, ROWS), _around(at[-1] if at else 0, columns, COLUMNS)


def _around(index: int, size: int, count: int) -> range:
    first = max(0, min(index - count // 2, size - count))
    return range(first, min(size, first + count))


def _table(array: np.ndarray, at: tuple[int, ...]) -> list[str]:
    part = _last_two(array, at)
    rows, columns = range(min(ROWS, part.shape[0])), range(min(INPUT_COLUMNS, part.shape[1]))
    more = [" " * 5 + "…"] if part.shape[0] > ROWS else []
    dots = "  …" if part.shape[1] > INPUT_COLUMNS else ""
    return [
        *(f"{row:4} " + "".join(_cell(part[row, column]) for column in columns) + dots for row in rows),
        *more,
    ]


def _cell(number: np.generic, marked: bool = False) -> str:
    """Return a number in a cell, with a mark before the worst."""
    value = number.item()
    if isinstance(value, float):
        text = f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1000 else f"{value:.1e}"
    else:
        text = str(value)
    return f"{'>' if marked else ''}{text}".rjust(CELL)
