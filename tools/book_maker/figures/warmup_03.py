"""Figure of warm-up 03: what the causal mask does to scores and weights."""

from __future__ import annotations

import numpy as np

from solutions.warmup_02 import scaled_scores
from solutions.warmup_03 import attention_weights, lookback_mask
from tools.book_maker.drawing import svg
from tools.book_maker.values.worked_examples import SIX_WORDS

WORDS = ("Your", "journey", "starts")


def mask() -> str:
    """Draw scores, masked scores, and the weights of three words."""
    x = np.array(SIX_WORDS[: len(WORDS)])
    looks_back = lookback_mask(len(x))
    scores = scaled_scores(x, x)
    cell, top, first, step = (50, 36), 56, 66, 188
    lefts = [first + at * step for at in range(3)]
    middle = top + len(x) * cell[1] / 2
    right = len(x) * cell[0]
    return svg.figure(
        600,
        top + len(x) * cell[1] + 12,
        svg.matrix(lefts[0], top, scores, rows=WORDS, columns=WORDS, cell=cell, title="scores"),
        svg.arrow(lefts[0] + right + 6, middle, lefts[1] - 6, middle),
        svg.matrix(
            lefts[1], top, np.where(looks_back, scores, -np.inf), columns=WORDS, cell=cell, title="under the mask"
        ),
        svg.arrow(lefts[1] + right + 6, middle, lefts[2] - 6, middle),
        svg.matrix(
            lefts[2],
            top,
            attention_weights(x, x, looks_back),
            columns=WORDS,
            cell=cell,
            masked=~looks_back,
            title="after the softmax",
        ),
        title="Three by three scores, the upper right half at minus infinity, and weights that are zero there",
    )
