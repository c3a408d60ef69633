"""The figure of the page on ablations: what each head is worth."""

from __future__ import annotations

import numpy as np

from tools.book_maker.drawing import svg
from tools.book_maker.values.ablations import heads as costs_of_heads
from tools.book_maker.values.ablations import layers

ATTENTION = 1  # the column of layers() for a layer's attention


def heads() -> str:
    """Draw what each head costs alone, beside the sum of a layer's heads and what they cost together."""
    costs = 1000 * costs_of_heads()  # thousandths of a bit
    together = np.stack([costs.sum(axis=1), 1000 * layers()[:, ATTENTION]], axis=1)
    cell, left, top = (50, 32), 62, 58
    right = left + costs.shape[1] * cell[0] + 30
    return svg.figure(
        right + 2 * 90 + 6,
        top + costs.shape[0] * cell[1] + 8,
        svg.matrix(
            left,
            top,
            costs,
            rows=[f"layer {layer}" for layer in range(len(costs))],
            columns=range(costs.shape[1]),
            cell=cell,
            spec=".1f",
            title="one head left out",
        ),
        svg.matrix(
            right,
            top,
            together,
            columns=["sum of these", "all at once"],
            cell=(90, cell[1]),
            spec=".1f",
            title="all heads of the layer",
        ),
        title="One head costs a few thousandths of a bit; all heads of a layer together cost more than their sum",
    )
