"""Figures of the page on heads: what those of the small model look at."""

from functools import partial

import numpy as np

from play.pictures import visible
from tools.book_maker.drawing.svg import Drawing
from tools.book_maker.values.head_measurements import decided, named, sentence, shares


def one(draw: Drawing) -> None:
    """The attention weights of one head: a row for every token, a column for every token it may look at."""
    weights, names, hidden = _sentence()
    layer, head = divmod(decided(), weights.shape[1])
    grid = partial(draw.matrix, rows=names, columns=names, limit=1, masked=hidden)
    grid(0, 0, weights[layer, head], cell=(50, 30), title=named(decided()))


def layer(draw: Drawing) -> None:
    """All heads of one layer on the same sentence; each has a pattern of its own."""
    weights, names, hidden = _sentence()
    apart = np.abs(weights[:, :, None] - weights[:, None]).mean(axis=(1, 2, 3, 4))
    at, columns = int(apart.argmax()), 3
    grid = partial(draw.matrix, cell=17, spec=None, limit=1, masked=hidden)
    for head, weights_of_head in enumerate(weights[at]):
        x, y = head % columns * (17 * len(names) + 24), head // columns * (17 * len(names) + 40)
        grid(x, y, weights_of_head, rows=() if head % columns else names, title=f"layer {at}, head {head}")


def where(draw: Drawing) -> None:
    """The share of its attention that every head gives to the token before, to itself, to the first."""
    measured = {name: 100 * shares()[name] for name in ("the token before", "itself", "the first token")}
    layers, heads = measured["itself"].shape
    limit = max(float(percent.max()) for percent in measured.values())
    grid = partial(draw.matrix, columns=range(heads), cell=(29, 26), spec=".0f", limit=limit)
    for at, (name, percent) in enumerate(measured.items()):
        rows = () if at else [f"layer {number}" for number in range(layers)]
        grid(at * (29 * heads + 16), 0, percent, rows=rows, title=name)


def _sentence() -> tuple[np.ndarray, list[str], np.ndarray]:
    """Return the sentence's weights ``[layer, head, seq, seq]``, its tokens, and which weights the mask hides."""
    reading = sentence()
    hidden = ~np.tril(np.ones(reading.weights.shape[-2:], bool))
    return reading.weights[0], [visible(token) for token in reading.tokens[0]], hidden
