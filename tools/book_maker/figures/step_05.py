"""Figure of step 05: ids pick rows."""

from __future__ import annotations

import numpy as np

from tools.book_maker.drawing import svg

IDS = (3, 0, 5, 3)
VOCABULARY, WIDTH = 6, 4


def lookup() -> str:
    """Draw four ids, a table, and the four rows."""
    table = np.random.default_rng(5).normal(size=(VOCABULARY, WIDTH)).round(1)
    cell, top, middle = (40, 30), 56, 190
    right = middle + WIDTH * cell[0] + 100
    height = VOCABULARY * cell[1]
    start = top + (VOCABULARY - len(IDS)) * cell[1] / 2
    parts = [
        svg.matrix(24, start, [[str(one)] for one in IDS], cell=cell, kind="query", title="ids"),
        svg.matrix(middle, top, table, rows=range(VOCABULARY), cell=cell, spec=".1f", title="wte"),
        svg.matrix(right, start, table[list(IDS)], cell=cell, spec=".1f", title="rows"),
    ]
    for at, one in enumerate(IDS):
        here, there = start + (at + 0.5) * cell[1], top + (one + 0.5) * cell[1]
        parts.append(svg.arrow(24 + cell[0] + 4, here, middle - 28, there))
        parts.append(svg.arrow(middle + WIDTH * cell[0] + 4, there, right - 4, here))
    parts.append(
        svg.text(middle + WIDTH * cell[0] / 2, top + height + 16, "[vocab_size, n_embd]", size="small", mono=True)
    )
    parts.append(svg.text(24 + cell[0] / 2, start + len(IDS) * cell[1] + 16, "[seq]", size="small", mono=True))
    parts.append(
        svg.text(right + WIDTH * cell[0] / 2, start + len(IDS) * cell[1] + 16, "[seq, n_embd]", size="small", mono=True)
    )
    return svg.figure(
        right + WIDTH * cell[0] + 12,
        top + height + 32,
        *parts,
        title="Each of four ids points to a row of a table of six, and that row is copied; the id 3 comes twice",
    )
