"""Figures of step 06: two tables added, and how alike places are."""

from __future__ import annotations

import math

import numpy as np
from safetensors.numpy import load_file

from checker.course.paths import ROOT
from tools.book_maker.drawing import svg

TOKENS = ("the", "whale", "and", "the", "sea")
FARTHEST = 128
FIRST = 8  # the first places have rows of their own kind (the chapter prints their lengths)


def places() -> str:
    """Draw token rows plus position rows."""
    rng = np.random.default_rng(6)
    words = list(dict.fromkeys(TOKENS))
    table = rng.normal(size=(len(words), 3)).round(1)
    tokens = table[[words.index(token) for token in TOKENS]]
    positions = rng.normal(size=(len(TOKENS), 3)).round(1)
    cell, top = (42, 30), 56
    lefts = [62, 62 + 3 * cell[0] + 82, 62 + 6 * cell[0] + 124]
    middle = top + len(TOKENS) * cell[1] / 2
    return svg.figure(
        lefts[2] + 3 * cell[0] + 12,
        top + len(TOKENS) * cell[1] + 10,
        svg.matrix(lefts[0], top, tokens, rows=TOKENS, cell=cell, spec=".1f", title="rows of wte"),
        svg.text(lefts[0] + 3 * cell[0] + 20, middle, "+", size="large"),
        svg.matrix(lefts[1], top, positions, rows=range(len(TOKENS)), cell=cell, spec=".1f", title="rows of wpe"),
        svg.text(lefts[1] + 3 * cell[0] + 21, middle, "=", size="large"),
        svg.matrix(lefts[2], top, tokens + positions, cell=cell, spec=".1f", title="input"),
        title="Five token rows, of which the first and the fourth are equal, plus five position rows, all different",
    )


def _likeness(table: np.ndarray) -> np.ndarray:  # [places, embd] -> [FARTHEST]
    """Return the mean cosine of two rows 1, 2, … FARTHEST places apart."""
    rows = table[FIRST:] / np.linalg.norm(table[FIRST:], axis=1, keepdims=True)
    cosines = rows @ rows.T
    return np.array([np.diag(cosines, apart).mean() for apart in range(1, FARTHEST + 1)])


def _sinusoids(places: int, width: int) -> np.ndarray:  # -> [places, width]
    """Return positions as in Vaswani et al. (2017), section 3.5: sines in half the channels, cosines in the other."""
    angles = np.arange(places)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def likeness() -> str:
    """Draw the mean cosine of two places against their distance: learned, and by formula."""
    stored = load_file(ROOT / "models" / "moby-dick" / "model.safetensors")
    learned = stored["transformer.wpe.weight"].astype(np.float32)
    apart = np.arange(1, FARTHEST + 1)
    by_formula = _likeness(_sinusoids(*learned.shape))
    ours = _likeness(learned)
    lowest = min(0.0, math.floor(10 * min(by_formula.min(), ours.min())) / 10)
    plot = svg.Plot(66, 30, 334, 220, (0, FARTHEST), (lowest, 1))
    middle = slice(FARTHEST // 4, FARTHEST - 20)
    wide = middle.start + int(np.abs(by_formula - ours)[middle].argmax())  # where there is room for the words
    return svg.figure(
        424,
        306,
        plot.axes(
            x_ticks=range(0, FARTHEST + 1, 32), y_ticks=(0, 0.5, 1), x_label="places apart", y_label="mean cosine"
        ),
        plot.curve(apart, by_formula, kind="key", dashed=True),
        plot.curve(apart, ours),
        svg.text(*plot.at(wide, float(by_formula[wide]) + 0.09), "formula", size="small", kind="key", anchor="start"),
        svg.text(*plot.at(wide, float(ours[wide]) + 0.09), "learned", size="small", kind="accent", anchor="start"),
        title=f"Both curves fall with the distance: the formula's from {by_formula[0]:.2f} to {by_formula[-1]:.2f}, "
        f"the learned from {ours[0]:.2f} to {ours[-1]:.2f}",
    )
