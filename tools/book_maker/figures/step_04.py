"""Figures of step 04: the way of one token, and the two GELUs."""

from __future__ import annotations

import math

import numpy as np

from solutions.solution_01 import GPT2Config
from tools.book_maker.drawing import svg


def network() -> str:
    """Draw one token widened, bent and brought back."""
    config = GPT2Config()
    width, inner = config.n_embd, config.n_inner
    assert inner is not None
    scale, middle, bar = 200 / inner, 112, 26
    parts = []
    stops = [(20, width, "query"), (144, inner, "accent"), (258, inner, "accent"), (378, width, "query")]
    for x, size, kind in stops:
        tall = size * scale
        parts.append(svg.box(x, middle - tall / 2, bar, tall, kind=kind, round=3))  # type: ignore[arg-type]
        parts.append(svg.text(x + bar / 2, middle + tall / 2 + 14, f"{size}", size="small", mono=True))
    for (x, _, _), (onward, _, _), words in zip(stops, stops[1:], ("c_fc", "GELU", "c_proj"), strict=False):
        parts.append(svg.arrow(x + bar + 8, middle, onward - 8, middle, label=words))
    return svg.figure(
        424, 246, *parts, title=f"{width} numbers become {inner}, each of those is bent, and they become {width} again"
    )


def _exact(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))))


def _by_tanh(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def gelu() -> str:
    """Draw GELU and ReLU; below, the difference of the two GELUs."""
    x = np.linspace(-4, 4, 401)
    difference = 1e4 * (_by_tanh(x) - _exact(x))
    ticks = range(-4, 5, 2)
    upper = svg.Plot(64, 30, 340, 190, (-4, 4), (-0.5, 4))
    lower = svg.Plot(64, 286, 340, 120, (-4, 4), (-5, 5))
    zero = lower.at(0, 0)[1]
    return svg.figure(
        424,
        460,
        upper.axes(x_ticks=ticks, y_ticks=range(5)),
        upper.curve(x, np.maximum(x, 0), kind="key", dashed=True),
        upper.curve(x, _by_tanh(x)),
        svg.text(*upper.at(1.35, 2.6), "ReLU", size="small", kind="key", anchor="end"),
        svg.text(*upper.at(1.3, 0.55), "GELU", size="small", kind="accent", anchor="start"),
        lower.axes(x_ticks=ticks, y_ticks=[(-5, "\N{MINUS SIGN}5"), 0, 5], x_label="x"),
        svg.line(64, zero, 404, zero),
        lower.curve(x, difference, kind="bad"),
        svg.text(234, 268, "(tanh approximation \N{MINUS SIGN} exact) \N{MULTIPLICATION SIGN} 10,000", size="small"),
        title="GELU follows ReLU far from zero and is smooth near it; the two GELUs differ by less than five "
        "ten-thousandths, most of all near plus and minus 2.7",
    )
