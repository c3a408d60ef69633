"""The figure of the page on ablations: what each head is worth."""

from functools import partial

import numpy as np

from tools.book_maker.drawing.svg import Drawing
from tools.book_maker.values.ablations import heads as costs_of_heads
from tools.book_maker.values.ablations import layers

ATTENTION = 1  # the column of layers() for a layer's attention


def heads(draw: Drawing) -> None:
    """One head costs about a hundredth of a bit; the attention of a layer costs more than the sum of its heads."""
    costs = 1000 * costs_of_heads()  # thousandths of a bit
    together = np.stack([costs.sum(axis=1), 1000 * layers()[:, ATTENTION]], axis=1)
    names = [f"layer {layer}" for layer in range(len(costs))]
    grid = partial(draw.matrix, spec=".1f")
    numbers, title = range(costs.shape[1]), "one head left out"
    alone = grid(0, 0, costs, rows=names, columns=numbers, cell=(50, 32), title=title)
    columns, title = ("sum of heads", "as a whole"), "the layer's attention"
    grid(alone.width + 30, 0, together, columns=columns, cell=(90, 32), title=title)
