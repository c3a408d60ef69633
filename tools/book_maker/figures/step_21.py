"""Figures of step 21: tiles and the diagonal, an online softmax on paper, a register tile, a roofline."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from checker.course.paths import ROOT
from tools.book_maker.drawing import svg

FIGURES = ROOT / "tools" / "benchmarks" / "figures" / "kernels.json"

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


def _points(parts: dict[str, Any]) -> list[tuple[float, float, str, svg.Kind]]:
    """Return what is drawn under a roofline: operations for each byte, billions of them a second, words, and a kind.

    A product of some rows uses each weight of 4 bytes once per row, for a multiplication and an addition. A core of T
    tokens and d channels needs 2 T (T + 1) d operations; it must read query, key and value and write the output, 16 T d
    bytes. With its scores in memory, all that stands in the chapter's table is 32 T T + 16 T d bytes.
    """
    tokens, depth = 1024, 64
    operations = 2 * tokens * (tokens + 1) * depth
    read = {row["rows"]: row["MAX with kernels, GB/s"] for row in parts["linear"]["rows"]}
    found: list[tuple[float, float, str, svg.Kind]] = []
    for count in (1, 8):
        found.append((count / 2, read[count] * count / 2, f"linear layers,\n{count} row{'s' * (count > 1)}", "key"))
    ladder = {row["rung"]: row["ms"][str(tokens)] for row in parts["ladder"]["rows"]}
    formula, *_ = ladder
    taught = next(rung for rung in ladder if "step 21" in rung)
    *_, tuned = ladder
    bytes_once, bytes_of_scores = 16 * tokens * depth, 32 * tokens**2
    for rung, words, moved in (
        (formula, "scores\nin memory", bytes_once + bytes_of_scores),
        (taught, "step 21", bytes_once),
        (tuned, "play/kernels", bytes_once),
    ):
        found.append((operations / moved, 12 * operations / ladder[rung] / 1e6, words, "accent"))
    return found


def roofline(results: dict[str, Any] | None = None) -> str:
    """Draw what bounds a program: its operations for each byte, and the two roofs of a processor.

    It is the first of the file whose figures were measured as they are today; if there is none, simply the first.

    Args:
        results: what ``./run bench-kernels --out`` wrote, if not ``tools/benchmarks/figures/kernels.json``.
    """
    results = json.loads(FIGURES.read_text()) if results is None else results
    name = next((name for name, result in results.items() if "note" not in result), next(iter(results)))
    result = results[name]
    ground = {row["what"]: row["figure"] for row in result["parts"]["ground"]["rows"]}
    product = max(figure for what, figure in ground.items() if what.endswith("GFLOP/s"))
    readers = [ground, *result["parts"]["linear"]["rows"]]  # a linear layer for one row is one, too
    reading = max(figure for rates in readers for what, figure in rates.items() if what.endswith("GB/s"))
    left, right, low, high = 0.25, 512.0, 4.0, 2048.0
    plot = svg.Plot(66, 52, 540, 270, (left, right), (low, high), log_x=True, log_y=True)
    ticks = [float(4**power) for power in range(-1, 5)]
    parts = [
        plot.axes(
            x_ticks=[(tick, f"{tick:g}") for tick in ticks],
            y_ticks=[float(4**power) for power in range(1, 6)],
            x_label="operations for each byte that must be read or written",
            y_label="GFLOP/s",
        ),
        plot.curve([left, product / reading, right], [left * reading, product, product], kind="query"),
        svg.text(336, 20, f"{name}", size="small"),
    ]
    for x, y, words, kind in _points(result["parts"]):
        parts.append(plot.dots([x], [y], kind=kind, radius=5))
        across, down = plot.at(x, y)
        parts.append(svg.text(across + 10, down + 12, words, anchor="start", size="small"))
    across, down = plot.at(right, product)
    parts.append(svg.text(across, down - 12, f"the best product, {product:.0f} GFLOP/s", anchor="end", size="small"))
    across, down = plot.at(left, left * reading)
    parts.append(svg.text(across + 10, down - 66, f"reading,\n{reading:.0f} GB/s", anchor="start", size="small"))
    title = "What bounds a program: below both lines lies what a linear layer, and attention, reach"
    return svg.figure(640, 372, *parts, title=title)
