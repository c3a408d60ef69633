"""The figure of step 11: a vector is compared with the row of every token."""

import numpy as np

from tools.book_maker.drawing.svg import Drawing

ROWS = np.array([[1, 0], [0, 1], [2, 2], [-1, 0]])  # [vocab, embd], as in the chapter
STREAM = np.array([[3, -1], [-2, 3], [1, 1]])  # [seq, embd]


def head(draw: Drawing) -> None:
    """Draw the last row of the chapter's example times the table of the embeddings: one logit for every token."""
    last = STREAM[-1:]
    logits = last @ ROWS.T
    best = int(logits.argmax())
    draw.title = f"The dot product with each row of the table is a logit; that of token {best} is the largest"
    draw.matrix(40, 48, last, cell=(50, 32), spec=".0f", title="last token", below="[1, embd]")
    draw.text(164, 64, "times")
    rows = [f"token {token}" for token in range(len(ROWS))]
    draw.matrix(262, 0, ROWS, rows=rows, cell=(54, 32), spec=".0f", title="rows of wte", below="[vocab, embd]")
    draw.arrow((382, 64), (424, 64))
    draw.matrix(432, 0, logits.T, cell=(60, 32), spec=".0f", title="logits", below="[1, vocab]")
    draw.text(500, 32 * best + 16, "most likely", "start", kind="good")
