"""What the pattern of wrong numbers says: where they are wrong, and in what way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np

HUGGING_FACE = "Hugging Face's"  # whose numbers yours are compared with, unless a claim says otherwise


@dataclass(frozen=True)
class Comparison:
    """Two arrays of one shape that a claim compared, and what the learner's code was given."""

    what: str
    actual: np.ndarray
    expected: np.ndarray
    axes: Sequence[str]
    whose: str
    inputs: dict[str, Any] = field(default_factory=dict)


def pattern(
    actual: np.ndarray, expected: np.ndarray, axes: Sequence[str], tolerance: float, whose: str = HUGGING_FACE
) -> str:
    """Return one sentence on how two finite arrays of one shape differ; empty when nothing stands out."""
    if expected.dtype == bool:
        actual, expected = actual.astype(np.int64), expected.astype(np.int64)
    room = tolerance * max(1.0, float(np.abs(expected).max(initial=0)))
    if not expected.ndim:
        return ""
    if not actual.any():
        return "Everything is zero."
    if factor := _factor(actual, expected, room):
        return f"Everything is off by one factor: yours is {factor:.4g} times {whose}."
    if np.ptp(actual - expected) < 2 * room:
        return f"Everything is off by the same amount, {float((actual - expected).mean()):+.4g}."
    for order in permutations(range(expected.ndim)):
        if order != tuple(range(expected.ndim)) and np.allclose(
            expected.transpose(order).reshape(-1), actual.reshape(-1), rtol=0, atol=room
        ):
            named = ", ".join(axes[axis] for axis in order)
            return f"The numbers are right but lie in the order ({named}): a transpose is missing or too many."
    if expected.size > 1 and np.allclose(np.sort(actual, axis=None), np.sort(expected, axis=None), rtol=0, atol=room):
        return "The numbers are right, their order is not: look at the reshapes and transposes."
    return _where(np.abs(actual - expected) <= room, axes)


def _factor(actual: np.ndarray, expected: np.ndarray, room: float) -> float | None:
    if expected.size < 2 or not expected.any():
        return None
    factor = float((actual * expected).sum() / (expected * expected).sum())
    fits = abs(factor) > 1e-3 and np.allclose(actual, factor * expected, rtol=0, atol=room * abs(factor))
    return factor if fits else None


def _where(right: np.ndarray, axes: Sequence[str]) -> str:
    """Return along which axis some indices are right throughout and others are not."""
    for axis, name in enumerate(axes):
        good = np.asarray(right.all(axis=tuple(other for other in range(right.ndim) if other != axis)))
        if not good.any() or good.all():
            continue
        ends = {0: f"the first {name}", len(good) - 1: f"the last {name}"}
        indices, bad = np.flatnonzero(good), np.flatnonzero(~good)
        for several, word in ((indices, "right"), (bad, "wrong")):
            if len(several) == 1:
                return f"Only {ends.get(int(several[0]), f'{name} {several[0]}')} is {word}."
        return f"The values are right for {name} {_listed(indices)}, wrong for {_listed(bad)}."
    return ""


def _listed(indices: np.ndarray) -> str:
    if len(indices) > 2 and np.all(np.diff(indices) == 1):
        return f"{indices[0]} to {indices[-1]}"
    return ", ".join(map(str, indices[:6])) + (", …" if len(indices) > 6 else "")


def place(index: Sequence[np.intp], axes: Sequence[str]) -> str:
    """Return an index in words."""
    return ", ".join(f"{axis} {int(at)}" for axis, at in zip(axes, index, strict=True))


def first_difference(actual: np.ndarray, expected: np.ndarray, axes: Sequence[str], what: str) -> str:
    """Return where two arrays of ids, positions or bools differ first: ``token 3 of row 1 is 34, and must be 9``."""
    index = np.unravel_index(int((actual != expected).argmax()), expected.shape)
    named = " of ".join(reversed(place(index, axes).split(", ")))
    return f"In {what.removesuffix(',')}, {named} is {actual[index]}, and must be {expected[index]}."


def largest_difference(actual: np.ndarray, expected: np.ndarray, axes: Sequence[str], whose: str = HUGGING_FACE) -> str:
    """Return where two arrays differ most, and by how much; of two single numbers, both."""
    if not expected.ndim:
        return f"Yours is {float(actual):.5g}, {whose} {float(expected):.5g}."
    index = np.unravel_index(int(np.nanargmax(np.abs(np.nan_to_num(actual) - np.nan_to_num(expected)))), expected.shape)
    yours, theirs = float(actual[index]), float(expected[index])
    return (
        f"The largest difference is {abs(yours - theirs):.3g}, at {place(index, axes)}: "
        f"yours {yours:.5g}, {whose} {theirs:.5g}."
    )
