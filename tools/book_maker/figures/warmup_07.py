"""Figures of warm-up 07: the scores that each call computes with and without a cache, and the mask of new tokens."""

from __future__ import annotations

import numpy as np

from solutions.warmup_03 import lookback_mask
from solutions.warmup_07 import mask_with_past
from tools.book_maker.drawing import svg

TOKENS = ("Call", "me", "Ish", "ma", "el", ".", "Some")
PROMPT, TOTAL = 4, 6  # tokens of the prompt, and after the last call of the first figure
CELL = 18.0


def work() -> str:
    """Draw the scores of three calls: without a cache every call has a square, with it a row per new token."""
    lefts, top, gap = (150.0, 340.0), 56.0, 26.0
    parts = [
        svg.text(left, 18, words, anchor="start", bold=True)
        for left, words in zip(lefts, ("without a cache", "with the cache"), strict=True)
    ]
    y = top
    for total in range(PROMPT, TOTAL + 1):
        prefill = total == PROMPT
        name = f"prompt,\n{PROMPT} tokens" if prefill else f"one more,\n{total} in all"
        parts.append(svg.text(18, y + total * CELL / 2, name, anchor="start", size="small"))
        new = total if prefill else 1
        before = 0 if prefill else total - 1
        for left, mask in zip(lefts, (lookback_mask(total), mask_with_past(new, total - new)), strict=True):
            down = y + (total - len(mask)) * CELL  # the row of a token is at the same height in both columns
            for (row, column), seen in np.ndenumerate(mask):
                again = len(mask) == total and row < before
                kind: svg.Kind = ("bad" if again else "accent") if seen else "masked"
                parts.append(svg.box(left + column * CELL, down + row * CELL, CELL - 2, CELL - 2, kind=kind, round=2))
            words = f"{mask.size} scores"
            parts.append(
                svg.text(left + TOTAL * CELL + 8, down + len(mask) * CELL / 2, words, anchor="start", size="small")
            )
        y += total * CELL + gap
    legend: list[tuple[svg.Kind, str]] = [
        ("accent", "new"),
        ("bad", "computed again"),
        ("masked", "hidden by the mask"),
    ]
    x = lefts[0]
    for kind, words in legend:
        parts.append(svg.box(x, y, 16, 16, kind=kind, round=2))
        parts.append(svg.text(x + 22, y + 8, words, anchor="start", size="small"))
        x += 42 + svg.text_width(words, "small")
    return svg.figure(
        550,
        y + 28,
        *parts,
        title="A prompt of four tokens and two more: without a cache, each call computes a square; with it, one row",
    )


def mask() -> str:
    """Draw the causal mask of seven tokens, and the rows of it that two new tokens have."""
    total, new = len(TOKENS), 2
    looks_back = lookback_mask(total)
    assert np.array_equal(looks_back[total - new :], mask_with_past(new, total - new))
    words = np.where(looks_back, "True", "False")
    new_rows = np.arange(total)[:, None] >= total - new
    left, cell = 96.0, 52.0
    parts = [
        svg.matrix(
            left,
            30,
            words,
            columns=[str(at) for at in range(total)],
            rows=[f"token {at}" for at in range(total)],
            cell=(cell, 28),
            masked=np.broadcast_to(~new_rows, words.shape),
            kind="accent",
        ),
        svg.brace(left + total * cell + 6, 30 + 28 * (total - new), 28 * new, "new", side="right"),
        svg.brace(left + total * cell + 6, 30, 28 * (total - new), "in the cache", side="right"),
    ]
    return svg.figure(
        left + total * cell + 120,
        30 + 28 * total + 12,
        *parts,
        title="Of the causal mask of seven tokens, two new ones have the last two rows, seven columns each",
    )
