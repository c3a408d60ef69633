"""Figures of warm-up 01: what one word gathers, and what all of them take from each other."""

from __future__ import annotations

import numpy as np

from solutions.warmup_01 import attention_scores, context_vectors, softmax
from tools.book_maker.drawing import svg
from tools.book_maker.values.worked_examples import JOURNEY, SIX_WORDS

WORDS = ("Your", "journey", "starts", "with", "one", "step")
ROW = 30  # height of one word's cells


def journey() -> str:
    """Draw the scores of "journey", their softmax, and the sum of the six vectors by those weights."""
    x = np.array(SIX_WORDS)
    scores = attention_scores(x[JOURNEY : JOURNEY + 1], x)
    weights = softmax(scores)
    context = context_vectors(weights, x)
    top, cell = 30, (60, ROW)
    middle = top + len(WORDS) * ROW / 2
    return svg.figure(
        620,
        top + len(WORDS) * ROW + 16,
        svg.matrix(70, top, scores.T, rows=WORDS, columns=["score"], cell=cell, spec=".4f"),
        svg.arrow(136, middle, 204, middle, label="softmax"),
        svg.matrix(210, top, weights.T, columns=["weight"], cell=cell, spec=".4f"),
        svg.text(288, middle, "\N{MULTIPLICATION SIGN}"),
        svg.matrix(305, top, x, cell=(42, ROW), kind="value"),
        svg.text(305 + 63, top - 12, "value", size="small"),
        svg.brace(438, top, len(WORDS) * ROW, side="right"),
        svg.text(466, middle - 24, "sum", size="small"),
        svg.arrow(451, middle, 480, middle),
        svg.matrix(484, middle - ROW / 2, context, cell=(44, ROW), spec=".2f", kind="accent"),
        svg.text(484 + 66, middle - ROW / 2 - 12, "context vector", size="small"),
        title="The six scores of journey, their softmax as weights, and the sum of the six values by these weights",
    )


def weights() -> str:
    """Draw every word's weights, one row per query."""
    x = np.array(SIX_WORDS)
    shares = softmax(attention_scores(x, x))
    return svg.figure(
        424,
        280,
        svg.matrix(
            92, 62, shares, rows=WORDS, columns=WORDS, cell=(54, 34), spec=".3f", title="key: the word that is asked"
        ),
        svg.text(84, 28, "query", anchor="end", bold=True),
        title="The six by six attention weights of the sentence; each row sums to one",
    )
