"""Figure of warm-up 03: what the causal mask does to scores and weights."""

import numpy as np

from solutions.warmup_02 import scaled_scores
from solutions.warmup_03 import attention_weights, lookback_mask
from tools.book_maker.drawing.svg import Drawing
from tools.book_maker.figures.warmup_01 import SIX_WORDS, WORDS


def mask(draw: Drawing) -> None:
    """Three by three scores, the upper right half at minus infinity, and weights that are zero there."""
    words, x = WORDS[:3], np.array(SIX_WORDS[:3])
    looks_back, scores = lookback_mask(3), scaled_scores(x, x)
    stages = {
        "scores": scores,
        "under the mask": np.where(looks_back, scores, -np.inf),
        "after the softmax": attention_weights(x, x, looks_back),
    }
    for at, (title, values) in enumerate(stages.items()):
        hidden, rows = ~looks_back & (at > 0), () if at else words
        drawn = draw.matrix(188 * at, 0, values, rows=rows, columns=words, cell=(50, 36), masked=hidden, title=title)
        if at < 2:
            draw.arrow((drawn.right[0] + 6, 54), (drawn.right[0] + 32, 54))
