"""Figure of warm-up 03: what the causal mask does to scores and weights."""

import numpy as np

from play.attention.pictures import visible
from play.whale import read
from solutions.warmup_01 import softmax
from solutions.warmup_03 import causal_mask
from tools.book_maker.drawing.svg import Drawing


def mask(draw: Drawing) -> None:
    """Scores of three tokens in one head, the upper right half at minus infinity, and weights that are zero there."""
    whale, looks_back = read(), causal_mask(3)
    tokens = [visible(token) for token in whale["tokens"][:3]]
    scores = whale["h.0.attn.scores"][3, :3, :3]
    masked = np.where(looks_back, scores, -np.inf)
    stages = {"scores": scores, "under the mask": masked, "weights": softmax(masked)}
    for at, (title, values) in enumerate(stages.items()):
        hidden, rows = ~looks_back & (at > 0), () if at else tokens
        drawn = draw.matrix(200 * at, 0, values, rows=rows, columns=tokens, cell=(54, 36), masked=hidden, title=title)
        if at < 2:
            draw.arrow((drawn.right[0] + 6, 54), (drawn.right[0] + 32, 54))
