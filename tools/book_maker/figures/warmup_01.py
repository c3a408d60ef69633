"""Figures of warm-up 01: what one word gathers, and what all of them take from each other."""

import numpy as np

from solutions.warmup_01 import attention_scores, context_vectors, softmax
from tools.book_maker.drawing.svg import Drawing

WORDS = ("Your", "journey", "starts", "with", "one", "step")
#: "Your journey starts with one step", three numbers per word, as in the check; after Raschka, chapter 3.
SIX_WORDS = (
    (0.43, 0.15, 0.89),
    (0.55, 0.87, 0.66),
    (0.57, 0.85, 0.64),
    (0.22, 0.58, 0.33),
    (0.77, 0.25, 0.10),
    (0.05, 0.80, 0.55),
)
JOURNEY = 1  # the row of "journey"


def journey(draw: Drawing) -> None:
    """The six scores of journey, their softmax as weights, and the sum of the six values by these weights."""
    x = np.array(SIX_WORDS)
    scores = attention_scores(x[JOURNEY : JOURNEY + 1], x)
    weights = softmax(scores)
    score = draw.matrix(0, 0, scores.T, rows=WORDS, columns=["score"], cell=(60, 30), spec=".4f")
    weight = draw.matrix(140, 0, weights.T, columns=["weight"], cell=(60, 30), spec=".4f")
    middle = weight.middle[1]
    draw.arrow((score.right[0] + 6, middle), (weight.x - 6, middle), label="softmax")
    draw.text(218, middle, "\N{MULTIPLICATION SIGN}", size="normal")
    value = draw.matrix(235, 0, x, cell=(42, 30), kind="value")
    draw.text(value.top[0], -12, "value")
    draw.brace(368, 0, value.height, side="right")
    draw.text(396, middle - 24, "sum")
    draw.arrow((381, middle), (410, middle))
    context = draw.matrix(414, middle - 15, context_vectors(weights, x), cell=(44, 30), kind="accent")
    draw.text(context.top[0], middle - 27, "context vector")


def weights(draw: Drawing) -> None:
    """The six by six attention weights of the sentence; each row sums to one."""
    x = np.array(SIX_WORDS)
    shares, title = softmax(attention_scores(x, x)), "key: the word that is asked"
    draw.matrix(0, 0, shares, rows=WORDS, columns=WORDS, cell=(54, 34), spec=".3f", title=title)
    draw.heading(-8, -34, "query", "end")
