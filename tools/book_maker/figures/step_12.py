"""The figure of step 12: a random number lands on a line that is cut into tokens."""

import numpy as np

from solutions.solution_12 import Sampling
from tools.book_maker.drawing.svg import Drawing

LOGITS = np.log([[6, 3, 2, 1]])  # as in the chapter
TOKENS = ("was", "is", "seemed", "has")
SEED, WIDTH, PITCH = 1, 400, 62


def line(draw: Drawing) -> None:
    """Three settings cut the line from 0 to 1 differently, so the same random number picks different tokens."""
    settings = {
        "temperature 1": Sampling(),
        "temperature 0.5": Sampling(temperature=0.5),
        "top-k 2": Sampling(top_k=2),
    }
    drawn = np.random.default_rng(SEED).random()
    for row, (words, sampling) in enumerate(settings.items()):
        y, start = 44 + row * PITCH, 0.0
        draw.text(0, y - 12, words, "start", size="normal")
        for token, share in zip(TOKENS, sampling.probabilities(LOGITS)[0], strict=True):
            kind = "accent" if start <= drawn < start + share else "plain"
            if share:
                label = token if share * WIDTH > 50 else ""
                draw.box(start * WIDTH, y, share * WIDTH, 30, label, kind, size="small")
            start += share
    draw.text(drawn * WIDTH, 12, f"the draw: {drawn:.2f}")
    draw.line((drawn * WIDTH, 22), (drawn * WIDTH, 44 + 2 * PITCH + 36), kind="bad", dashed=True)
    for at in (0, 1):
        draw.text(at * WIDTH, 44 + 2 * PITCH + 44, str(at))
