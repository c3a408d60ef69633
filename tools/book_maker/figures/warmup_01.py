"""Figure of warm-up 01: what one token gathers from three."""

import numpy as np

from solutions.warmup_01 import attention_scores, context_vectors, softmax
from tools.book_maker.drawing.svg import Drawing

TOKENS = ("whale", "ship", "it")
VECTORS = ((2, 0), (2, 2), (1, 1))  # as in the page's example by hand


def it(draw: Drawing) -> None:
    """The three scores of the token it, their softmax as weights, and the sum of the values by these weights."""
    x = np.array(VECTORS)
    scores = attention_scores(x[-1:], x)
    weights = softmax(scores)
    score = draw.matrix(0, 0, scores.T, rows=TOKENS, columns=["score"], cell=(60, 30), spec=".0f")
    weight = draw.matrix(140, 0, weights.T, columns=["weight"], cell=(60, 30))
    middle = weight.middle[1]
    draw.arrow((score.right[0] + 6, middle), (weight.x - 6, middle), label="softmax")
    draw.text(218, middle, "\N{MULTIPLICATION SIGN}", size="normal")
    value = draw.matrix(235, 0, x, cell=(42, 30), kind="value", spec=".0f")
    draw.text(value.top[0], -12, "value")
    draw.brace(326, 0, value.height, side="right")
    draw.text(358, middle - 24, "sum")
    draw.arrow((341, middle), (374, middle))
    context = draw.matrix(380, middle - 15, context_vectors(weights, x), cell=(50, 30), kind="accent")
    draw.text(context.top[0], middle - 27, "context vector")
