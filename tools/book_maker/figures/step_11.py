"""The figure of step 11: a vector is compared with the row of every token."""

import numpy as np

from tools.book_maker.drawing.svg import arrow, figure, matrix, text

ROWS = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [-1.0, 0.0]])  # [vocab, embd], as in the chapter
STREAM = np.array([[0.9, -0.2], [0.1, 1.8], [2.0, 0.4]])  # [seq, embd]


def head() -> str:
    """Draw the last row of the chapter's example times the table of the embeddings: one logit for every token."""
    last = STREAM[-1:]
    logits = last @ ROWS.T
    words = ["token 0", "token 1", "token 2", "token 3"]
    best = int(logits.argmax())
    return figure(
        600,
        214,
        matrix(40, 96, last, cell=(50, 32), spec=".1f", title="last token"),
        text(90, 150, "[1, embd]", size="small", mono=True),
        text(164, 112, "times", size="small"),
        matrix(262, 48, ROWS, rows=words, cell=(54, 32), spec=".1f", title="rows of wte"),
        text(316, 196, "[vocab, embd]", size="small", mono=True),
        arrow(382, 112, 424, 112),
        matrix(432, 48, logits.T, cell=(60, 32), spec=".2f", title="logits"),
        text(462, 196, "[1, vocab]", size="small", mono=True),
        text(500, 48 + 32 * best + 16, "most likely", anchor="start", size="small", kind="good"),
        title=f"The dot product with each row of the table is a logit; that of token {best} is the largest",
    )
