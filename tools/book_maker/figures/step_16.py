"""Figures of step 16: which label each position has to predict, and what its gradient is made of."""

import numpy as np

from tools.book_maker.drawing.svg import MINUS, Drawing

TOKENS = (",", "and", "it", "s", "ank", ".")  # the end of the sentence that runs through the book
IGNORED = f"{MINUS}100"
LABELS = (IGNORED, IGNORED, IGNORED, "s", "ank", ".")  # only what follows the prompt is to be learned

LOGITS = np.array([2.0, 1.0, 0.0, -1.0])  # of one position, as in the chapter
TARGET = 1


def shift(draw: Drawing) -> None:
    """Draw tokens, labels and targets; an arrow from each label to the position that has to predict it."""
    draw.title = f"Each label moves one position to the left; where it is {IGNORED}, and at the end, nothing counts"
    cell, targets = 78, np.array([*LABELS[1:], IGNORED])
    tops = {"input_ids": 0.0, "labels": 56.0, "targets": 136.0}
    for at in range(len(TOKENS)):
        draw.text((at + 0.5) * cell, -18, f"position {at}")
    for (name, top), words in zip(tops.items(), (TOKENS, LABELS, targets), strict=True):
        row = np.array([words])
        draw.matrix(0, top, row, cell=(cell, 34), masked=row == IGNORED, kind="accent")
        draw.text(-10, top + 17, name, "end", mono=True)
    for at in range(1, len(TOKENS)):
        start, end = ((at + 0.5) * cell, tops["labels"] + 34), ((at - 0.5) * cell + 4, tops["targets"] - 2)
        draw.arrow(start, end, kind="muted" if LABELS[at] == IGNORED else "plain")
    valid = np.flatnonzero(targets != IGNORED)
    draw.brace(valid[0] * cell, 176, len(valid) * cell, f"the loss is the mean of these {len(valid)}")


def gradient(draw: Drawing) -> None:
    """Draw the logits of one position, their probabilities, the one-hot target, and the difference of the two."""
    draw.title = f"The gradient is the probabilities minus 1 at token {TARGET}, the target, which alone is negative"
    powers = np.exp(LOGITS - LOGITS.max())
    probabilities, one_hot = powers / powers.sum(), np.eye(len(LOGITS))[TARGET]
    rows = (
        ("logits", LOGITS, ".1f", ""),
        ("probabilities", probabilities, ".2f", "add up to 1"),
        ("minus one-hot target", -one_hot, ".0f", ""),
        ("gradient", probabilities - one_hot, ".2f", "add up to 0"),
    )
    for at, (name, values, spec, note) in enumerate(rows):
        columns = () if at else [f"token {token}" for token in range(len(LOGITS))]
        limit = 1.0 if at else float(np.abs(LOGITS).max())
        row = draw.matrix(0, 46 * at, values[None], columns=columns, cell=(74, 34), spec=spec, limit=limit)
        draw.text(-10, row.left[1], name, "end", bold=name == "gradient")
        draw.text(row.right[0] + 10, row.right[1], note, "start")
