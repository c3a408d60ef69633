"""Figures of step 18: the way back through attention, one row of a softmax, and which token a gradient reaches."""

from __future__ import annotations

import numpy as np

from checker.max_adapter.runtime import lazily, tensor
from play.pictures import visible
from solutions.solution_06 import position_ids
from solutions.solution_13 import load_pretrained
from solutions.solution_18 import attention_backward
from tools.book_maker.drawing import svg
from tools.book_maker.values.head_measurements import SMALL_MODEL, sentence

WEIGHTS = np.array([0.25, 0.5, 0.25, 0])  # of one row, as in the chapter
GRAD = np.array([4.0, 2.0, 0.0, 100.0])
LAYER = 2


def way_back() -> str:
    """Draw the tensors of the way forward, below them their gradients, and between the two what is needed again."""
    wide, high, gap, left, top, below = 97.0, 60.0, 35.0, 6.0, 30.0, 190.0
    names = (
        "hidden_states\n[T, C]",
        "query, key,\nvalue\n[H, T, d]",
        "weights\n[H, T, T]",
        "merged\n[T, C]",
        "output\n[T, C]",
    )
    starts = [left + at * (wide + gap) for at in range(len(names))]
    gaps = [start + wide + gap / 2 for start in starts[:-1]]
    middles = [start + wide / 2 for start in starts]
    forward = ("c_attn", "softmax", "@ value", "c_proj")
    backward = ("linear_backward", "softmax_backward,\n2 products", "2 products", "linear_backward")
    needed = ((0, 0, 0), (1, 1, -12), (2, 1, 10), (1, 2, -10), (2, 2, 10), (3, 3, 0))  # box, gap, from its middle
    parts = []
    for start, name in zip(starts, names, strict=True):
        kind: svg.Kind = "key" if name != names[-1] else "plain"
        parts.append(svg.box(start, top, wide, high, name, size="small", kind=kind))
        gradient = "grad, given" if name == names[-1] else "gradient"
        shape = name.rpartition("\n")[2]
        parts.append(svg.box(start, below, wide, high, f"{gradient}\n{shape}", size="small", kind="accent"))
    for start, at, there, back in zip(starts, gaps, forward, backward, strict=False):
        parts.append(svg.arrow(start + wide, top + high / 2, start + wide + gap - 2, top + high / 2))
        parts.append(svg.text(at, 14, there, size="small"))
        level = below + high / 2
        parts.append(svg.arrow(start + wide + gap, level, start + wide + 2, level, kind="accent"))
        parts.append(svg.text(at, below + high + 18, back, size="small"))
    for box, at, aside in needed:
        parts.append(
            svg.arrow(middles[box] + aside, top + high, gaps[at] + aside / 2, below - 2, kind="key", dashed=True)
        )
    parts.append(
        svg.text(
            starts[-1] + wide,
            (top + high + below) / 2,
            "needed again:\nkept, or\ncomputed\nonce more",
            anchor="end",
            size="small",
        )
    )
    under = below + high + 40
    parts.append(svg.brace(middles[1], under, middles[3] - middles[1], "heads_backward", mono=True))
    return svg.figure(
        starts[-1] + wide + left,
        under + 34,
        *parts,
        title="Attention forward from left to right, its gradients below from right to left, and what they need of it",
    )


def row() -> str:
    """Draw one row of weights with its gradient, and step by step what arrives at the scores."""
    total = float((WEIGHTS * GRAD).sum())
    left, cell = 176.0, (66.0, 34.0)
    rows = {
        "weights": WEIGHTS,
        "grad": GRAD,
        "weights · grad": WEIGHTS * GRAD,
        f"grad {svg.MINUS} {total:g}": GRAD - total,
        "gradient of the scores": WEIGHTS * (GRAD - total),
    }
    notes = ("add up to 1", "", f"add up to {total:g}", "", "add up to 0")
    parts = []
    for at, ((name, values), note) in enumerate(zip(rows.items(), notes, strict=True)):
        top = 32 + 46 * at
        columns = [f"key {key}" for key in range(len(WEIGHTS))] if at == 0 else None
        hidden = WEIGHTS[None] == 0
        parts.append(svg.matrix(left, top, values[None], columns=columns, cell=cell, spec="g", limit=4, masked=hidden))
        parts.append(svg.text(left - 10, top + 17, name, anchor="end", size="small", bold=at == len(rows) - 1))
        parts.append(svg.text(left + len(WEIGHTS) * cell[0] + 10, top + 17, note, anchor="start", size="small"))
    return svg.figure(
        left + len(WEIGHTS) * cell[0] + 90,
        32 + 46 * len(rows),
        *parts,
        title="The gradient of a row of scores: positive where grad lies above the row's sum, 0 where the weight is 0",
    )


def _reached() -> np.ndarray:  # [from, to]
    """Return how much of a gradient of size 1 at one token arrives at every token, in layer ``LAYER``."""
    ids, model = sentence().ids, load_pretrained(SMALL_MODEL).transformer
    length, width = ids.shape[1], model.config.n_embd
    grads = np.zeros((length, length, width), np.float32)  # a batch: in row t, only token t has a gradient
    directions = np.random.default_rng(18).standard_normal((length, width))
    for token, direction in enumerate(directions):
        grads[token, token] = direction / np.linalg.norm(direction)
    with lazily():
        states = model.wte(tensor(ids)) + model.wpe(position_ids(length, device=model.wte.weight.device))
        for block in model.h[:LAYER]:
            states = block(states)
        normed = model.h[LAYER].ln_1(states)
    hidden_states = np.from_dlpack(normed).repeat(length, axis=0)
    with lazily():
        gradient, _ = attention_backward(tensor(grads), tensor(hidden_states), model.h[LAYER].attn)
    return np.linalg.norm(np.from_dlpack(gradient), axis=-1)


def reach() -> str:
    """Draw how much of a gradient at one token (the row) arrives at every token (the column)."""
    sizes, names = _reached(), [visible(token) for token in sentence().tokens[0]]
    cell = (50, 30)
    return svg.figure(
        86 + cell[0] * len(names) + 6,
        44 + cell[1] * len(names) + 6,
        svg.matrix(86, 38, sizes, rows=names, columns=names, cell=cell, masked=sizes == 0),
        title="A triangle: the gradient at a token arrives at that token and at earlier ones, and at no later one",
    )
