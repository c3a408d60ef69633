"""Figures of the page on heads: what those of the small model look at, and two of SmolLM2's."""

from functools import partial

import numpy as np

from play.attention.pictures import visible
from tools.book_maker.drawing.svg import Drawing
from tools.book_maker.values import smollm2 as recorded
from tools.book_maker.values.heads import shares


def where(draw: Drawing) -> None:
    """The share of its attention that every head gives to the token before, to itself, to the first."""
    measured = {name: 100 * shares[name] for name in ("the token before", "itself", "the first token")}
    layers, heads = measured["itself"].shape
    limit = max(float(percent.max()) for percent in measured.values())
    grid = partial(draw.matrix, columns=range(heads), cell=(29, 26), spec=".0f", limit=limit)
    for at, (name, percent) in enumerate(measured.items()):
        rows = () if at else [f"layer {number}" for number in range(layers)]
        grid(at * (29 * heads + 16), 0, percent, rows=rows, title=name)


def smollm2(draw: Drawing) -> None:
    """How much the token it takes from each token of our sentence: the most from the ship."""
    tokens, weights = recorded.RECORDED["tokens"], recorded.look(" ship")["weights"]
    draw.bars(0, 0, 300, list(zip(map(visible, tokens), weights, strict=True)), labels=70)


def twice(draw: Drawing) -> None:
    """What the clearest induction head takes from each token, where our sentence is read a second time."""
    read = recorded.RECORDED["heads"]["twice"]
    tokens = [visible(token) for token in read["tokens"]]
    half = len(tokens) // 2
    weights = 100 * np.array(read["weights"])[half:, : half + 1]  # to the first token that comes again
    draw.matrix(0, 0, weights, rows=tokens[half:], columns=tokens[: half + 1], cell=(50, 24), spec=".0f", limit=100)
