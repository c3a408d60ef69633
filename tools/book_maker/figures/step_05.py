"""Figure of step 05: ids pick rows."""

import numpy as np

from tools.book_maker.drawing.svg import Drawing

IDS = (3, 0, 5, 3)
VOCABULARY, WIDTH = 6, 4


def lookup(draw: Drawing) -> None:
    """Each of four ids points to a row of a table of six, and that row is copied; the id 3 comes twice."""
    table = np.random.default_rng(5).normal(size=(VOCABULARY, WIDTH)).round(1)
    cell, start = (40, 30), (VOCABULARY - len(IDS)) * 15
    names = [[str(token)] for token in IDS]
    ids = draw.matrix(24, start, names, cell=cell, kind="query", title="ids", below="[seq]")
    rows, below = range(VOCABULARY), "[vocab_size, n_embd]"
    wte = draw.matrix(190, 0, table, rows=rows, cell=cell, spec=".1f", title="wte", below=below)
    picked = table[list(IDS)]
    out = draw.matrix(450, start, picked, cell=cell, spec=".1f", title="rows", below="[seq, n_embd]")
    for at, token in enumerate(IDS):
        here, there = start + (at + 0.5) * 30, (token + 0.5) * 30
        draw.arrow((ids.right[0] + 4, here), (wte.x - 28, there))
        draw.arrow((wte.right[0] + 4, there), (out.x - 4, here))
