"""Figure of step 02: causal masks with and without earlier tokens."""

from functools import partial

import numpy as np

from tools.book_maker.drawing.svg import Drawing

LENGTH, CACHED = 5, 3


def masks(draw: Drawing) -> None:
    """A square mask that is zero up to the diagonal and minus infinity to the right of it, and its last two rows as
    a mask of their own."""
    places = [f"token {place}" for place in range(LENGTH)]
    blocked = np.arange(LENGTH) > np.arange(LENGTH)[:, None]
    mask, x, new = np.where(blocked, -np.inf, 0.0), 0.0, LENGTH - CACHED
    grid = partial(draw.matrix, columns=range(LENGTH), cell=(44, 32), spec="g", kind="good")
    for cached in (0, CACHED):
        title = f"causal_mask({LENGTH - cached}, {cached})"
        last = grid(x, 32 * cached, mask[cached:], rows=places[cached:], title=title)
        x += last.width + 96
    draw.brace(last.x, last.y + last.height + 4, CACHED * 44, "num_tokens", mono=True)
    draw.brace(last.x + CACHED * 44, last.y + last.height + 4, new * 44, "seq", mono=True)
