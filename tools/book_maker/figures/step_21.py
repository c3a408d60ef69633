"""Figures of step 21: tiles and the diagonal, an online softmax on paper, a register tile."""

from __future__ import annotations

import numpy as np

from tools.book_maker.drawing import svg

SCORES = (1.0, 3.0, 2.0, 5.0, 4.0)  # five numbers, as in the chapter, in blocks of 2, 2 and 1
BLOCK = 2

QUERIES, KEYS, LENGTH = 2, 4, 12  # of the figure; a kernel has larger ones


def tiles() -> str:
    """Draw the scores of a sequence in tiles: those that are computed, those on the diagonal, those never read."""
    cell, left, top = 26.0, 96.0, 50.0
    parts = []
    for first in range(0, LENGTH, QUERIES):
        for block in range(0, LENGTH, KEYS):
            past = block + KEYS <= first + 1
            future = block >= first + QUERIES
            kind: svg.Kind = "key" if past else "masked" if future else "accent"
            place = (left + block * cell, top + first * cell, KEYS * cell, QUERIES * cell)
            parts.append(svg.box(*place, kind=kind, round=2, dashed=future))
    for token in range(LENGTH):
        parts.append(svg.circle(left + (token + 0.5) * cell, top + (token + 0.5) * cell, 3, kind="query"))
    wide = left + LENGTH * cell
    parts += [
        svg.text(left + LENGTH * cell / 2, 16, "keys and values"),
        svg.text(left + KEYS * cell / 2, 38, "a block of keys", size="small"),
        svg.text(left - 12, top + LENGTH * cell / 2, "queries", anchor="end"),
        svg.text(left - 12, top + QUERIES * cell / 2, "one task", anchor="end", size="small"),
    ]
    notes: tuple[tuple[svg.Kind, str], ...] = (
        ("key", "all keys are of the past"),
        ("accent", "on the diagonal: a row\nsees the keys up to its own"),
        ("masked", "the future: never read"),
    )
    for at, (kind, words) in enumerate(notes):
        parts.append(svg.box(wide + 18, top + 30 + 74 * at, 22, 22, kind=kind, round=2, dashed=kind == "masked"))
        parts.append(svg.text(wide + 48, top + 41 + 74 * at, words, anchor="start", size="small"))
    title = "The scores of a sequence in tiles; those above the diagonal are never computed"
    return svg.figure(wide + 226, top + LENGTH * cell + 12, *parts, title=title)


def _running() -> list[tuple[tuple[float, ...], float, float, float]]:
    """Return, block by block: its scores, the maximum by then, the factor, and the total."""
    maximum, total, found = -np.inf, 0.0, []
    for first in range(0, len(SCORES), BLOCK):
        block = SCORES[first : first + BLOCK]
        new = max(maximum, *block)
        factor = float(np.exp(maximum - new))
        total = total * factor + float(np.exp(np.array(block) - new).sum())
        maximum = new
        found.append((block, maximum, factor, total))
    return found


def online() -> str:
    """Draw the softmax of five scores in three blocks, with the maximum, the factor and the total after each."""
    left, top, cell, row = 118.0, 44.0, 52.0, 66.0
    parts = [
        svg.text(left + len(SCORES) * cell / 2, 16, "scores"),
        *(
            svg.text(left + len(SCORES) * cell + at, 16, words)
            for at, words in ((56, "maximum"), (134, "factor"), (212, "total"))
        ),
    ]
    for at, (block, maximum, factor, total) in enumerate(_running()):
        level = top + at * row
        parts.append(svg.text(left - 12, level + 20, f"block {at}", anchor="end", size="small"))
        for column, score in enumerate(SCORES):
            inside = at * BLOCK <= column < at * BLOCK + len(block)
            before = column < at * BLOCK
            kind: svg.Kind = "accent" if inside else "key" if before else "masked"
            words = f"{score:g}" if inside or before else ""
            parts.append(svg.box(left + column * cell + 2, level, cell - 4, 40, words, kind=kind, dashed=not words))
        end = left + len(SCORES) * cell
        for aside, value in ((56, f"{maximum:g}"), (134, f"{factor:.3f}"), (212, f"{total:.3f}")):
            parts.append(svg.text(end + aside, level + 20, value, mono=True))
    return svg.figure(
        left + len(SCORES) * cell + 262,
        top + 3 * row,
        *parts,
        title="Five scores in three blocks: after each, the maximum, the factor for what came before, and the total",
    )


def registers() -> str:
    """Draw a register tile: four queries meet three vectors of keys, and twelve sums stay in registers."""
    rows, columns, wide, high, left, top = 4, 3, 104.0, 44.0, 110.0, 74.0
    parts = [svg.text(left + columns * wide / 2, 14, "one channel of a block of keys, side by side", size="small")]
    for column in range(columns):
        parts.append(svg.box(left + column * wide + 3, 30, wide - 6, 30, f"keys {column}", kind="key", mono=True))
    for row in range(rows):
        level = top + row * high
        parts.append(svg.box(left - 84, level + 4, 74, high - 8, f"query {row}", kind="query", mono=True))
        for column in range(columns):
            parts.append(
                svg.box(left + column * wide + 3, level + 4, wide - 6, high - 8, "sums", kind="accent", mono=True)
            )
    note = f"{rows} + {columns} numbers or vectors are loaded for {rows * columns} multiply-adds"
    whole = left + columns * wide + 20
    parts.append(svg.text(whole / 2, top + rows * high + 18, note, size="small"))
    return svg.figure(
        whole,
        top + rows * high + 36,
        *parts,
        title="A register tile: each loaded query number and each loaded vector of keys is used several times",
    )
