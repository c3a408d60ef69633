"""Figures of warm-up 07: the scores that each call computes with and without a cache, and the mask of new tokens."""

import numpy as np

from solutions.warmup_03 import causal_mask
from solutions.warmup_07 import mask_with_past
from tools.book_maker.drawing.svg import Drawing

PROMPT, LAST = 4, 6  # tokens of the prompt, and after the last call of the first figure
CELL = 18
TOTAL, NEW = 7, 2  # tokens of the second figure


def work(draw: Drawing) -> None:
    """A prompt of four tokens and two more: without a cache, each call computes a square; with it, one row."""
    lefts, y = (150, 340), 56
    for left, words in zip(lefts, ("without a cache", "with the cache"), strict=True):
        draw.heading(left, 18, words, "start")
    for total in range(PROMPT, LAST + 1):
        prefill = total == PROMPT
        name = f"prompt,\n{PROMPT} tokens" if prefill else f"one more,\n{total} in all"
        draw.text(18, y + total * CELL / 2, name, "start")
        new = total if prefill else 1
        for left, one_mask in zip(lefts, (causal_mask(total), mask_with_past(new, total - new)), strict=True):
            down = y + (total - len(one_mask)) * CELL  # the row of a token is at the same height in both columns
            for (row, column), seen in np.ndenumerate(one_mask):
                again = not prefill and len(one_mask) == total and row < total - 1
                kind = ("bad" if again else "accent") if seen else "masked"
                draw.box(left + column * CELL, down + row * CELL, CELL - 2, CELL - 2, kind=kind, round=2)
            draw.text(left + LAST * CELL + 8, down + len(one_mask) * CELL / 2, f"{one_mask.size} scores", "start")
        y += total * CELL + 26
    draw.legend(lefts[0], y + 8, [("new", "accent"), ("computed again", "bad"), ("hidden by the mask", "masked")])


def mask(draw: Drawing) -> None:
    """Of the causal mask of seven tokens, two new ones have the last two rows, seven columns each."""
    looks_back, past = causal_mask(TOTAL), TOTAL - NEW
    assert np.array_equal(looks_back[past:], mask_with_past(NEW, past))
    words, old = np.where(looks_back, "True", "False"), np.arange(TOTAL)[:, None] < past
    rows = [f"token {at}" for at in range(TOTAL)]
    grid = draw.matrix(0, 0, words, rows=rows, columns=range(TOTAL), cell=(52, 28), masked=old, kind="accent")
    draw.brace(grid.right[0] + 6, 28 * past, 28 * NEW, "new", "right")
    draw.brace(grid.right[0] + 6, 0, 28 * past, "in the cache", "right")
