"""Figure of step 02: causal masks with and without earlier tokens."""

from __future__ import annotations

import numpy as np

from tools.book_maker.drawing import svg

LENGTH, CACHED = 5, 3


def _mask(rows: int, earlier: int) -> np.ndarray:  # -> [rows, rows + earlier]
    blocked = np.arange(rows + earlier) > np.arange(rows)[:, None] + earlier
    return np.where(blocked, -np.inf, 0.0)


def masks() -> str:
    """Draw the mask of a sequence, and that of its last tokens after a cache."""
    cell, top = (44, 32), 70
    new = LENGTH - CACHED
    places = [f"token {place}" for place in range(LENGTH)]
    first, second = 66, 66 + LENGTH * cell[0] + 96
    lower = top + CACHED * cell[1]
    return svg.figure(
        second + LENGTH * cell[0] + 8,
        top + LENGTH * cell[1] + 38,
        svg.matrix(
            first,
            top,
            _mask(LENGTH, 0),
            rows=places,
            columns=range(LENGTH),
            cell=cell,
            spec="g",
            kind="good",
            title=f"causal_mask({LENGTH}, 0)",
        ),
        svg.matrix(
            second,
            lower,
            _mask(new, CACHED),
            rows=places[CACHED:],
            columns=range(LENGTH),
            cell=cell,
            spec="g",
            kind="good",
            title=f"causal_mask({new}, {CACHED})",
        ),
        svg.brace(second, lower + new * cell[1] + 4, CACHED * cell[0], "num_tokens", mono=True),
        svg.brace(second + CACHED * cell[0], lower + new * cell[1] + 4, new * cell[0], "seq", mono=True),
        title="A square mask that is zero up to the diagonal and minus infinity to the right of it, and its last two "
        "rows as a mask of their own",
    )
