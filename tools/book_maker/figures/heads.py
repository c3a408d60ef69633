"""Figures of the page on heads: what those of the small model look at."""

from __future__ import annotations

import numpy as np

from play.pictures import visible
from tools.book_maker.drawing import svg
from tools.book_maker.values.head_measurements import decided, named, sentence, shares


def one() -> str:
    """Draw the most decided head on the sentence, with its weights."""
    found = sentence()
    layer, head = divmod(decided(), found.weights.shape[2])
    names = [visible(token) for token in found.tokens[0]]
    cell = (50, 30)
    return svg.figure(
        86 + cell[0] * len(names) + 6,
        66 + cell[1] * len(names) + 6,
        svg.matrix(
            86,
            60,
            found.weights[0, layer, head],
            rows=names,
            columns=names,
            cell=cell,
            limit=1,
            masked=~np.tril(np.ones((len(names), len(names)), bool)),
            title=named(decided()),
        ),
        title="The attention weights of one head: a row for every token, a column for every token that it may look at",
    )


def layer() -> str:
    """Draw all heads of the layer whose heads differ most on the sentence."""
    found = sentence()
    weights = found.weights[0]
    apart = np.abs(weights[:, :, None] - weights[:, None]).mean(axis=(1, 2, 3, 4))
    at = int(apart.argmax())
    length, cell, columns = len(found.tokens[0]), 17.0, 3
    hidden = ~np.tril(np.ones((length, length), bool))
    names = [visible(token) for token in found.tokens[0]]
    parts = []
    for head, one_head in enumerate(weights[at]):
        x, y = 66 + head % columns * (cell * length + 24), 34 + head // columns * (cell * length + 40)
        parts.append(
            svg.matrix(
                x,
                y,
                one_head,
                rows=names if head % columns == 0 else None,
                cell=cell,
                spec=None,
                limit=1,
                masked=hidden,
                title=f"layer {at}, head {head}",
            )
        )
    rows = -(-len(weights[at]) // columns)
    return svg.figure(
        66 + columns * (cell * length + 24) - 14,
        34 + rows * (cell * length + 40) - 30,
        *parts,
        title="All heads of one layer on the same sentence; each has a pattern of its own",
    )


def where() -> str:
    """Draw the shares of three kinds of keys for all heads, in percent."""
    names = ("the token before", "itself", "the first token")
    measured = shares()
    layers, heads = measured[names[0]].shape
    limit = max(float(measured[name].max()) for name in names)
    cell = (29, 26)
    parts = []
    for at, name in enumerate(names):
        parts.append(
            svg.matrix(
                62 + at * (heads * cell[0] + 16),
                58,
                100 * measured[name],
                rows=[f"layer {number}" for number in range(layers)] if at == 0 else None,
                columns=range(heads),
                cell=cell,
                spec=".0f",
                limit=100 * limit,
                title=name,
            )
        )
    return svg.figure(
        62 + len(names) * (heads * cell[0] + 16) - 8,
        58 + layers * cell[1] + 8,
        *parts,
        title="The share of its attention that every head gives to the token before, to itself, to the first",
    )
