"""Figures of step 06: two tables added, and how alike places are."""

import math
from functools import cache, partial

import numpy as np
from safetensors.numpy import load_file

from checker.course.steps import SMALL_MODEL
from tools.book_maker.drawing.svg import Axis, Drawing

TOKENS = ("the", "whale", "and", "the", "sea")
FARTHEST = 128


def places(draw: Drawing) -> None:
    """Five token rows, of which the first and the fourth are equal, plus five position rows, all different."""
    rng = np.random.default_rng(6)
    words = list(dict.fromkeys(TOKENS))
    table = rng.normal(size=(len(words), 3)).round(1)
    tokens = table[[words.index(token) for token in TOKENS]]
    positions = rng.normal(size=(len(TOKENS), 3)).round(1)
    grid = partial(draw.matrix, cell=(42, 30), spec=".1f")
    added = grid(62, 0, tokens, rows=TOKENS, title="rows of wte")
    draw.text(added.right[0] + 20, added.right[1], "+", size="large")
    added = grid(270, 0, positions, rows=range(len(TOKENS)), title="rows of wpe")
    draw.text(added.right[0] + 21, added.right[1], "=", size="large")
    grid(438, 0, tokens + positions, title="input")


def _likeness(table: np.ndarray) -> np.ndarray:  # [places, embd] -> [FARTHEST]
    """Return the mean cosine of two rows 1, 2, … FARTHEST places apart."""
    rows = table / np.linalg.norm(table, axis=1, keepdims=True)
    cosines = rows @ rows.T
    return np.array([np.diag(cosines, apart).mean() for apart in range(1, FARTHEST + 1)])


def _sinusoids(length: int, width: int) -> np.ndarray:  # -> [places, width]
    """Return positions as in Vaswani et al. (2017), section 3.5: sines in half the channels, cosines in the other."""
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


@cache
def curves() -> tuple[np.ndarray, np.ndarray]:  # each [FARTHEST]
    """Return the mean cosine of two places by their distance: by formula, and as the small model learned them."""
    learned = load_file(SMALL_MODEL / "model.safetensors")["transformer.wpe.weight"].astype(np.float32)
    return _likeness(_sinusoids(*learned.shape)), _likeness(learned)


def likeness(draw: Drawing) -> None:
    """Draw the mean cosine of two places against their distance: learned, and by formula."""
    formula, ours = curves()
    draw.title = (
        f"Both curves fall with the distance: the formula's from {formula[0]:.2f} to {formula[-1]:.2f}, "
        f"the learned from {ours[0]:.2f} to {ours[-1]:.2f}"
    )
    lowest = min(0.0, math.floor(10 * min(formula.min(), ours.min())) / 10)
    distances = Axis(0, FARTHEST, range(0, FARTHEST + 1, 32), "places apart")
    plot = draw.plot((66, 30, 334, 220), distances, Axis(lowest, 1, (0, 0.5, 1), "mean cosine"))
    apart, middle = np.arange(1, FARTHEST + 1), slice(FARTHEST // 4, FARTHEST - 20)
    plot.curve(apart, formula, "key", dashed=True)
    plot.curve(apart, ours)
    wide = middle.start + int(np.abs(formula - ours)[middle].argmax())  # where there is room for the words
    plot.text((wide, float(formula[wide]) + 0.09), "formula", kind="key")
    plot.text((wide, float(ours[wide]) + 0.09), "learned", kind="accent")
