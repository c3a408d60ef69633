"""A step of training: forward, backward, clipping and AdamW, by this course's code in MAX and by PyTorch.

``measuring`` has ``with_max`` and ``with_torch`` take turns; ``./run bench-train`` and the book's values import it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

RATE = 1e-4  # small, so that many steps on one batch stay far from learning it by heart


def two_steps(step: Callable[[], tuple[float, float]], first: tuple[float, float]) -> np.ndarray:  # -> [3]
    """Return the loss of the first step, that of another, which tells whether the first was right, and the first norm.

    The norm counts a hundredth: in 32 bits PyTorch's own norm of GPT-2 small's gradients is off by almost a thousandth.
    The second norm is no measure: AdamW's first update has the sign of each gradient, which near zero is rounding's.
    """
    loss, norm = first
    return np.array([loss, step()[0], norm / 100])
