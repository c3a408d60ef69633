"""Figures of step 04: the way of one token, and the two GELUs."""

import math
from itertools import pairwise

import numpy as np

from solutions.solution_01 import GPT2Config
from tools.book_maker.drawing.svg import MINUS, Axis, Drawing


def network(draw: Drawing) -> None:
    """Draw one token widened, bent and brought back."""
    width, inner = GPT2Config().n_embd, GPT2Config().inner_dim
    draw.title = f"{width} numbers become {inner}, each of those is bent, and they become {width} again"
    stops = []
    for x, size, kind in ((20, width, "query"), (144, inner, "accent"), (258, inner, "accent"), (378, width, "query")):
        tall = size * 200 / inner
        stops.append(draw.box(x, -tall / 2, 26, tall, kind=kind, round=3))
        draw.text(x + 13, tall / 2 + 14, f"{size}", mono=True)
    for (stop, onward), words in zip(pairwise(stops), ("c_fc", "GELU", "c_proj"), strict=True):
        draw.arrow((stop.right[0] + 8, 0), (onward.x - 8, 0), label=words)


def gelu(draw: Drawing) -> None:
    """GELU follows ReLU far from zero and is smooth near it; the two GELUs differ by less than five
    ten-thousandths, most of all near plus and minus 2.7."""
    x, ticks = np.linspace(-4, 4, 401), range(-4, 5, 2)
    exact = 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
    by_tanh = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    upper = draw.plot((64, 30, 340, 190), Axis(-4, 4, ticks), Axis(-0.5, 4, range(5)))
    upper.curve(x, np.maximum(x, 0), "key", dashed=True)
    upper.curve(x, by_tanh)
    upper.text((1.35, 2.6), "ReLU", "end", kind="key")
    upper.text((1.3, 0.55), "GELU", kind="accent")
    lower = draw.plot((64, 286, 340, 120), Axis(-4, 4, ticks, "x"), Axis(-5, 5, [(-5, f"{MINUS}5"), 0, 5]))
    draw.line(lower.at(-4, 0), lower.at(4, 0))
    lower.curve(x, 1e4 * (by_tanh - exact), "bad")
    draw.text(234, 268, f"(tanh approximation {MINUS} exact) \N{MULTIPLICATION SIGN} 10,000")
