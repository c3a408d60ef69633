"""Figures of step 16: which label each position has to predict, and what its gradient is made of."""

import numpy as np

from tools.book_maker.drawing.svg import MINUS, Kind, arrow, brace, figure, matrix, text

TOKENS = ("Call", "me", "Ish", "ma", "el", ".")
IGNORED = f"{MINUS}100"
LABELS = (IGNORED, IGNORED, "Ish", "ma", "el", ".")  # the prompt is two tokens; only what follows it is to be learned

LOGITS = np.array([2.0, 1.0, 0.0, -1.0])  # of one position, as in the chapter
TARGET = 1


def shift() -> str:
    """Draw tokens, labels and targets; an arrow from each label to the position that has to predict it."""
    left, cell, row = 96.0, 78.0, 34.0
    targets = [*LABELS[1:], IGNORED]
    tops = {"input_ids": 36.0, "labels": 92.0, "targets": 172.0}
    words = {"input_ids": TOKENS, "labels": LABELS, "targets": targets}
    parts = [text(left + (at + 0.5) * cell, 18, f"position {at}", size="small") for at in range(len(TOKENS))]
    for name, top in tops.items():
        values = np.array([words[name]])
        hidden = values == IGNORED
        parts.append(matrix(left, top, values, cell=(cell, row), masked=hidden, kind="accent"))
        parts.append(text(left - 10, top + row / 2, name, anchor="end", size="small", mono=True))
    for at in range(1, len(TOKENS)):
        start, end = left + (at + 0.5) * cell, left + (at - 0.5) * cell
        kind: Kind = "muted" if LABELS[at] == IGNORED else "plain"
        parts.append(arrow(start, tops["labels"] + row, end + 4, tops["targets"] - 2, kind=kind))
    valid = [at for at, target in enumerate(targets) if target != IGNORED]
    under = tops["targets"] + row + 6
    parts.append(brace(left + valid[0] * cell, under, len(valid) * cell, f"the loss is the mean of these {len(valid)}"))
    return figure(
        left + len(TOKENS) * cell + 10,
        under + 44,
        *parts,
        title=f"Each label moves one position to the left; where it is {IGNORED}, and at the end, nothing counts",
    )


def gradient() -> str:
    """Draw the logits of one position, their probabilities, the one-hot target, and the difference of the two."""
    powers = np.exp(LOGITS - LOGITS.max())
    probabilities = powers / powers.sum()
    one_hot = np.eye(len(LOGITS))[TARGET]
    left, cell = 190.0, (74.0, 34.0)
    rows = {
        "logits": (LOGITS, ".1f"),
        "probabilities": (probabilities, ".2f"),
        "minus one-hot target": (-one_hot, ".0f"),
        "gradient": (probabilities - one_hot, ".2f"),
    }
    parts = []
    for at, (name, (values, spec)) in enumerate(rows.items()):
        top = 32 + 46 * at
        columns = [f"token {token}" for token in range(len(LOGITS))] if at == 0 else None
        limit = float(np.abs(LOGITS).max()) if at == 0 else 1.0
        parts.append(matrix(left, top, values[None], columns=columns, cell=cell, spec=spec, limit=limit))
        parts.append(text(left - 10, top + 17, name, anchor="end", size="small", bold=name == "gradient"))
    side = left + len(LOGITS) * cell[0] + 10
    parts.append(text(side, 32 + 46 + 17, "add up to 1", anchor="start", size="small"))
    parts.append(text(side, 32 + 3 * 46 + 17, "add up to 0", anchor="start", size="small"))
    return figure(
        side + 88,
        32 + 46 * len(rows),
        *parts,
        title=f"The gradient is the probabilities minus 1 at token {TARGET}, the target, which alone is negative",
    )
