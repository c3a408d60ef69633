"""Figures of warm-up 02: where query, key and value come from, and what the scale is for."""

import math

import numpy as np

from solutions.warmup_01 import softmax
from tools.book_maker.drawing.svg import Axis, Drawing

KEYS, QUERIES = 8, 2000


def projections(draw: Drawing) -> None:
    """One token vector becomes query, key and value; scores, weights, and a context vector."""
    token = draw.box(118, 8, 170, 36, "token vector x")
    projected = {}
    for x, kind in ((8, "query"), (148, "key"), (288, "value")):
        times = draw.box(x, 80, 110, 36, f"times W_{kind}", kind, size="small", mono=True)
        projected[kind] = draw.box(x, 138, 110, 36, kind, kind)
        draw.arrow(token.bottom, (times.top[0], 78), kind=kind)
        draw.arrow(times.bottom, (times.bottom[0], 136), kind=kind)
    scores = draw.box(8, 206, 250, 36, "scores: dot products over √d_k")
    weights = draw.box(8, 272, 250, 36, "attention weights")
    for kind in ("query", "key"):
        end = projected[kind].bottom
        draw.arrow(end, (end[0], 204), kind=kind)
    draw.arrow(scores.bottom, (scores.bottom[0], 270), label="softmax")
    draw.arrow(weights.bottom, (weights.bottom[0], 336))
    end = projected["value"].bottom
    draw.arrow(end, (end[0], 338), kind="value")
    draw.box(8, 340, 390, 36, "context vector: the values, summed by weight", "accent")


def _largest(width: int, scale: float) -> float:
    """Return the mean largest weight among ``KEYS`` keys of random channels."""
    rng = np.random.default_rng(width)
    query, key = rng.standard_normal((QUERIES, 1, width)), rng.standard_normal((QUERIES, KEYS, width))
    scores = (query @ key.swapaxes(-2, -1)) * scale
    return float(softmax(scores).max(axis=-1).mean())


def spread(draw: Drawing) -> None:
    """The largest weight grows towards one with the width of plain scores and stays level with scaled ones."""
    widths = [4**power for power in range(1, 6)]
    width = Axis(widths[0], widths[-1], widths, "d_k, the width of a key", log=True)
    plot = draw.plot((60, 40, 250, 200), width, Axis(0, 1, (0, 0.25, 0.5, 0.75, 1)))
    draw.text(16, 14, "largest of eight weights", "start")
    plain = [_largest(width, 1.0) for width in widths]
    scaled = [_largest(width, 1 / math.sqrt(width)) for width in widths]
    for words, largest, kind in (("plain scores", plain, "bad"), ("over √d_k", scaled, "good")):
        plot.curve(widths, largest, kind, radius=4)
        plot.text((widths[-1], largest[-1]), words, right=12, kind=kind, size="normal")
