"""What ``--show`` shows: what a claim gave the learner's code, and the numbers beside the expected ones."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from checker.numeric.patterns import Comparison

ROWS, COLUMNS = 5, 3  # of an array that are shown, three times side by side
INPUT_COLUMNS = 9
CELL = 9  # characters of a number, with the space before it
MOST_INPUTS = 4


def shown(comparison: Comparison) -> list[str]:
    """Return the inputs, and yours, the expected numbers and the difference side by side, as lines.

    Of arrays with more than two axes, the last two are shown, where the difference is largest.
    """
    actual, expected = comparison.actual, comparison.expected
    difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    difference = np.where(np.isnan(difference), np.inf, difference)
    worst = tuple(int(index) for index in np.unravel_index(int(difference.argmax()), difference.shape))
    lines: list[str] = []
    for name, array in comparison.inputs.items():
        lead = _lead(array, worst)
        lines += [f"{name} {list(array.shape)}{f', at {list(lead)}' if lead else ''}", *_table(array, lead), ""]
    axes = [f"{axis} {size}" for axis, size in zip(comparison.axes, actual.shape, strict=True)]
    place = ", ".join(f"{axis} {index}" for axis, index in zip(comparison.axes, worst, strict=True))
    lines.append(f"{comparison.what} [{', '.join(axes)}]; > marks the largest difference, at {place or 'the number'}")
    parts = [np.atleast_2d(array)[_lead(array, worst)] for array in (actual, expected, difference)]
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


def _lead(array: np.ndarray, place: tuple[int, ...]) -> tuple[int, ...]:
    """Return where the last two axes of an array are shown: at a place, if the array has it, else at its beginning."""
    count = max(0, array.ndim - 2)
    lead = place[:count]
    fits = len(lead) == count and all(index < size for index, size in zip(lead, array.shape, strict=False))
    return lead if fits else (0,) * count


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
    if isinstance(value, float):
        text = f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1000 else f"{value:.1e}"
    else:
        text = str(value)
    return f"{'>' if marked else ''}{text}".rjust(CELL)


def inputs_of(claim: Callable[..., Any], trace: TracebackType | None) -> dict[str, np.ndarray]:
    """Return the arrays that a claim gave to the learner's code, by what the claim calls them.

    Args:
        claim: a function of the check file, which calls ``equal(step.function(array), …)``.
        trace: the traceback of its failure.
    """
    while trace and trace.tb_frame.f_code is not claim.__code__:
        trace = trace.tb_next
    if trace is None:
        return {}
    tree = ast.parse(textwrap.dedent(inspect.getsource(claim)))
    line = trace.tb_lineno - claim.__code__.co_firstlineno + 1
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "equal"]
    call = next((node.args[0] for node in calls if node.lineno <= line <= (node.end_lineno or 0)), None)
    if isinstance(call, ast.Name):
        assignments = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and node.lineno < line]
        made = [node.value for node in assignments if call.id in map(ast.unparse, node.targets)]
        call = made[-1] if made else call
    inputs: dict[str, np.ndarray] = {}
    for argument in call.args if isinstance(call, ast.Call) else []:
        value = _value(argument, trace.tb_frame)
        if isinstance(value, np.ndarray) and value.size and len(inputs) < MOST_INPUTS:
            inputs[_name(argument)] = value
    return inputs


def _value(argument: ast.expr, frame: FrameType) -> object:
    """Return what an argument was, if finding out runs nothing."""
    if any(isinstance(node, ast.Call | ast.Lambda | ast.Await) for node in ast.walk(argument)):
        return None
    code = compile(ast.fix_missing_locations(ast.Expression(argument)), "an argument", "eval")
    try:
        return eval(code, frame.f_globals, frame.f_locals)
    except Exception:
        return None


def _name(argument: ast.expr) -> str:
    """Return ``query`` for ``reference["query"]``, and other arguments as they stand."""
    if isinstance(argument, ast.Subscript) and isinstance(argument.slice, ast.Constant):
        return str(argument.slice.value)
    return ast.unparse(argument).replace("'", '"')
