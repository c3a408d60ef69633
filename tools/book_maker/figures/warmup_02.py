"""Figures of warm-up 02: where query, key and value come from, and what the scale is for."""

from __future__ import annotations

import math

import numpy as np

from solutions.warmup_01 import softmax
from tools.book_maker.drawing import svg

KEYS, QUERIES = 8, 2000


def projections() -> str:
    """Draw the way from one token vector to its context vector."""
    width, height = 110, 36
    lefts: dict[svg.Kind, float] = {"query": 8, "key": 148, "value": 288}
    middle = {kind: left + width / 2 for kind, left in lefts.items()}
    parts = [svg.box(118, 8, 170, height, "token vector x")]
    for kind, left in lefts.items():
        parts += [
            svg.arrow(203, 8 + height, middle[kind], 78, kind=kind),
            svg.box(left, 80, width, height, f"times W_{kind}", kind=kind, size="small", mono=True),
            svg.arrow(middle[kind], 116, middle[kind], 136, kind=kind),
            svg.box(left, 138, width, height, kind, kind=kind),
        ]
    pair = (middle["query"] + middle["key"]) / 2
    parts += [
        svg.arrow(middle["query"], 174, middle["query"], 204, kind="query"),
        svg.arrow(middle["key"], 174, middle["key"], 204, kind="key"),
        svg.box(8, 206, 250, height, "scores: dot products over √d_k"),
        svg.arrow(pair, 242, pair, 270, label="softmax"),
        svg.box(8, 272, 250, height, "attention weights"),
        svg.arrow(pair, 308, pair, 336),
        svg.polyline([(middle["value"], 174), (middle["value"], 338)], head=True, kind="value"),
        svg.box(8, 340, 390, height, "context vector: the values, summed by weight", kind="accent"),
    ]
    return svg.figure(
        406, 384, *parts, title="One token vector becomes query, key and value; scores, weights, and a context vector"
    )


def _largest(width: int, scale: float) -> float:
    """Return the mean largest weight among ``KEYS`` keys of random channels."""
    rng = np.random.default_rng(width)
    query, key = rng.standard_normal((QUERIES, 1, width)), rng.standard_normal((QUERIES, KEYS, width))
    scores = (query @ key.swapaxes(-2, -1)) * scale
    return float(softmax(scores).max(axis=-1).mean())


def spread() -> str:
    """Draw how much the most attended of eight keys takes, with and without the scale."""
    widths = [4**power for power in range(1, 6)]
    plain = [_largest(width, 1.0) for width in widths]
    scaled = [_largest(width, 1 / math.sqrt(width)) for width in widths]
    plot = svg.Plot(60, 40, 250, 200, (widths[0], widths[-1]), (0, 1), log_x=True)
    right = plot.x + plot.width
    return svg.figure(
        424,
        296,
        plot.axes(x_ticks=widths, y_ticks=(0, 0.25, 0.5, 0.75, 1), x_label="d_k, the width of a key"),
        svg.text(plot.x - 44, 14, "largest of eight weights", anchor="start", size="small"),
        plot.curve(widths, plain, kind="bad"),
        plot.dots(widths, plain, kind="bad"),
        plot.curve(widths, scaled, kind="good"),
        plot.dots(widths, scaled, kind="good"),
        svg.text(right + 12, plot.at(widths[-1], plain[-1])[1], "plain scores", anchor="start", kind="bad"),
        svg.text(right + 12, plot.at(widths[-1], scaled[-1])[1], "over √d_k", anchor="start", kind="good"),
        title="The largest weight grows towards one with the width of plain scores and stays level with scaled ones",
    )
