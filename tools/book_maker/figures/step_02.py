"""Figures of step 02: the mask at work on a sentence, and the rows of it that new tokens need."""

from functools import partial

import numpy as np

from play.whale import read
from tools.book_maker.drawing.svg import Drawing

LENGTH, CACHED = 5, 3
LAYER, HEAD = 0, 3  # of the small model, as in step 07


def sentence(draw: Drawing) -> None:
    """Scores with minus infinity to the right of the diagonal, and their softmax, where these places are zero."""
    whale, blocked = read(), np.triu(np.ones((LENGTH, LENGTH), bool), k=1)
    words = [token.strip() for token in whale["tokens"][:LENGTH]]
    scores, weights = (whale[f"h.{LAYER}.attn.{name}"][HEAD, :LENGTH, :LENGTH] for name in ("scores", "weights"))
    grid = partial(draw.matrix, columns=words, cell=(45, 30), masked=blocked, kind="plain")
    left = grid(0, 0, np.where(blocked, -np.inf, scores), rows=words, spec=".1f", title="scores + mask")
    grid(left.width + 28, 0, weights, spec=".2f", title="weights")


def masks(draw: Drawing) -> None:
    """A square mask that is zero up to the diagonal and minus infinity to the right of it, and its last two rows."""
    places = [f"token {place}" for place in range(LENGTH)]
    blocked = np.arange(LENGTH) > np.arange(LENGTH)[:, None]
    mask, x, new = np.where(blocked, -np.inf, 0.0), 0.0, LENGTH - CACHED
    grid = partial(draw.matrix, columns=range(LENGTH), cell=(44, 32), spec="g", kind="good")
    for cached in (0, CACHED):
        title = f"causal_mask({LENGTH})" + (f"[{cached}:]" if cached else "")
        last = grid(x, 32 * cached, mask[cached:], rows=places[cached:], title=title)
        x += last.width + 96
    draw.brace(last.x, last.y + last.height + 4, CACHED * 44, "past", mono=True)
    draw.brace(last.x + CACHED * 44, last.y + last.height + 4, new * 44, "seq", mono=True)
