"""Figure of warm-up 04: heads split as they should be, and by reshape alone."""

from __future__ import annotations

import numpy as np

from solutions.warmup_04 import split_heads
from tools.book_maker.drawing import svg

TOKENS, WIDTH, HEADS = 3, 4, 2
KINDS: tuple[svg.Kind, ...] = ("query", "key")  # one color for the channels of each head
CELL = (40, 32)


def _printed(numbers: np.ndarray) -> str:
    return f"{int(numbers):02d}"


def _numbers(x: float, y: float, values: np.ndarray, rows: list[str] | None = None) -> str:
    """Draw a grid whose cells have the color of the head that their channel belongs to."""
    parts = []
    for row, numbers in enumerate(values):
        if rows:
            parts.append(svg.text(x - 8, y + (row + 0.5) * CELL[1], rows[row], anchor="end", size="small"))
        for column, value in enumerate(numbers):
            head = int(value) % 10 // (WIDTH // HEADS)
            left, top = x + column * CELL[0], y + row * CELL[1]
            parts.append(svg.box(left, top, *CELL, _printed(value), kind=KINDS[head], size="small", mono=True, round=0))
    return "\n".join(parts)


def split() -> str:
    """Draw three tokens of four channels, each number naming its token and channel, in two heads."""
    x = 10 * np.arange(TOKENS)[:, None] + np.arange(WIDTH)
    right, wrong = split_heads(x, HEADS), x.reshape(HEADS, TOKENS, WIDTH // HEADS)
    start, high = 70, TOKENS * CELL[1]
    parts = [
        svg.text(start + 80, 110, "x", bold=True),
        _numbers(start, 124, x, [f"token {at}" for at in range(TOKENS)]),
        svg.arrow(start + 166, 150, start + 246, 84, kind="good"),
        svg.arrow(start + 166, 194, start + 246, 260, kind="bad"),
        svg.text(420, 12, "reshape, then swapaxes", kind="good", bold=True),
        svg.text(420, 188, "reshape alone", kind="bad", bold=True),
    ]
    for heads, top in ((right, 52), (wrong, 228)):
        for at in range(HEADS):
            left = 330 + at * 110
            parts += [svg.text(left + CELL[0], top - 14, f"head {at}", size="small"), _numbers(left, top, heads[at])]
    return svg.figure(
        540, 228 + high + 10, *parts, title="Split rightly each head has two channels of every token; by reshape, not"
    )
