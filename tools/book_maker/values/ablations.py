"""Values for the page on ablations: the figures of ``./run ablate``, as differences and as rows of tables."""

import json
import math
from typing import Any

import numpy as np

from checker.course.steps import SMALL_MODEL
from play.training.texts import TEST

FIGURES: dict[str, Any] = json.loads((SMALL_MODEL / "ablations.json").read_text())

#: The numbers of the chapters that the model reads.
CHAPTERS = tuple(TEST)

#: From here on, the bits per byte of a model say only that it is wrong, so their fractions are left out.
LARGE = 1000

#: Bits per byte with nothing left out.
nothing: float = FIGURES["nothing"]


def more(name: str) -> float:
    """Return how many more bits per byte the model needs when something is left out everywhere."""
    return float(FIGURES["parts"][name] - nothing)


def row(name: str) -> str:
    """Return two cells of the page's table: the bits per byte, and how many more that is."""
    bits, added = FIGURES["parts"][name], more(name)
    return f"{bits:,.0f} | {added:+,.0f}" if bits >= LARGE else f"{bits:.3f} | {round(added, 3) + 0.0:+.3f}"


def layers() -> np.ndarray:  # [layer, 3]
    """Return how many more bits per byte each layer costs: all of it, its attention, its feed-forward network."""
    return np.array(FIGURES["layers"]) - nothing


def layer_row(layer: int) -> str:
    """Return the cells of one layer."""
    return " | ".join(f"{value:+.3f}" for value in layers()[layer])


def heads() -> np.ndarray:  # [layer, head]
    """Return how many more bits per byte the model needs without one head."""
    return np.array(FIGURES["heads"]) - nothing


def dearest_head() -> str:
    """Return the head that costs most: ``layer 3, head 4``."""
    layer, head = np.unravel_index(int(heads().argmax()), heads().shape)
    return f"layer {layer}, head {head}"


def guessing() -> float:
    """Return the bits per byte of guessing all tokens of the vocabulary with equal probability."""
    vocabulary = json.loads((SMALL_MODEL / "config.json").read_text())["vocab_size"]
    return math.log2(vocabulary) * float(FIGURES["tokens"] / FIGURES["bytes"])
