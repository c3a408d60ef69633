"""Figure of warm-up 04: heads split as they should be, and by reshape alone."""

import numpy as np

from solutions.warmup_04 import split_heads
from tools.book_maker.drawing.svg import Drawing

TOKENS, WIDTH, HEADS = 3, 4, 2
KINDS = np.array(["query", "key"])  # one color for the channels of each head


def split(draw: Drawing) -> None:
    """Split rightly each head has two channels of every token; by reshape, not."""

    def grid(x: float, y: float, values: np.ndarray, rows: list[str]) -> None:
        """Draw numbers whose cells have the color of the head that their channel belongs to."""
        words = np.vectorize("{:02d}".format)(values)
        draw.matrix(x, y, words, rows=rows, cell=(40, 32), kind=KINDS[values % 10 // (WIDTH // HEADS)])

    x = 10 * np.arange(TOKENS)[:, None] + np.arange(WIDTH)
    draw.heading(80, 110, "x")
    grid(0, 124, x, [f"token {at}" for at in range(TOKENS)])
    for top, words, kind, heads in (
        (52, "reshape, then swapaxes", "good", split_heads(x, HEADS)),
        (228, "reshape alone", "bad", x.reshape(HEADS, TOKENS, WIDTH // HEADS)),
    ):
        draw.arrow((166, 150 if kind == "good" else 194), (246, top + 32), kind=kind)
        draw.heading(350, top - 40, words, kind=kind)
        for at, head in enumerate(heads):
            draw.text(300 + 110 * at, top - 14, f"head {at}")
            grid(260 + 110 * at, top, head, [])
