"""Figures of step 18: the way back through attention, one row of a softmax, and which token a gradient reaches."""

from functools import partial

import numpy as np

from checker.course.paths import SMALL_MODEL
from checker.max_adapter.runtime import lazily, tensor
from play.pictures import visible
from solutions.solution_06 import position_ids
from solutions.solution_13 import load_pretrained
from solutions.solution_18 import attention_backward
from tools.book_maker.drawing.svg import MINUS, Drawing
from tools.book_maker.values.head_measurements import sentence

WEIGHTS = np.array([0.25, 0.5, 0.25, 0])  # of one row, as in the chapter
GRAD = np.array([4.0, 2.0, 0.0, 100.0])
LAYER = 2


def way_back(draw: Drawing) -> None:
    """Attention forward from left to right, its gradients below from right to left, and what they need of it."""
    names = (
        "hidden_states\n[T, C]",
        "query, key,\nvalue\n[H, T, d]",
        "weights\n[H, T, T]",
        "merged\n[T, C]",
        "output\n[T, C]",
    )
    forward, backward = [], []
    for at, name in enumerate(names):
        last = name == names[-1]
        gradient = f"{'grad, given' if last else 'gradient'}\n{name.rpartition(chr(10))[2]}"
        forward.append(draw.box(at * 132, 30, 97, 60, name, "plain" if last else "key", size="small"))
        backward.append(draw.box(at * 132, 190, 97, 60, gradient, "accent", size="small"))
    ways = (
        ("c_attn", "linear_backward"),
        ("softmax", "softmax_backward,\n2 products"),
        ("@ value", "2 products"),
        ("c_proj", "linear_backward"),
    )
    gaps = [box.right[0] + 17.5 for box in forward]
    for at, (there, back) in enumerate(ways):
        (x, y), (_, below) = forward[at].right, backward[at].right
        draw.arrow((x, y), (x + 33, y))
        draw.text(gaps[at], 14, there)
        draw.arrow((x + 35, below), (x + 2, below), kind="accent")
        draw.text(gaps[at], 268, back)
    for box, gap, aside in ((0, 0, 0), (1, 1, -12), (2, 1, 10), (1, 2, -10), (2, 2, 10), (3, 3, 0)):
        start, end = (forward[box].middle[0] + aside, 90), (gaps[gap] + aside / 2, 188)
        draw.arrow(start, end, kind="key", dashed=True)
    draw.text(forward[-1].right[0], 140, "needed again:\nkept, or\ncomputed\nonce more", "end")
    left, right = forward[1].middle[0], forward[3].middle[0]
    draw.brace(left, 290, right - left, "heads_backward", mono=True)


def row(draw: Drawing) -> None:
    """The gradient of a row of scores: positive where grad lies above the row's sum, 0 where the weight is 0."""
    total = float((WEIGHTS * GRAD).sum())
    rows = (
        ("weights", WEIGHTS, "add up to 1"),
        ("grad", GRAD, ""),
        ("weights · grad", WEIGHTS * GRAD, f"add up to {total:g}"),
        (f"grad {MINUS} {total:g}", GRAD - total, ""),
        ("gradient of the scores", WEIGHTS * (GRAD - total), "add up to 0"),
    )
    grid = partial(draw.matrix, cell=(66, 34), spec="g", limit=4, masked=WEIGHTS[None] == 0)
    for at, (name, values, note) in enumerate(rows):
        columns = () if at else [f"key {key}" for key in range(len(WEIGHTS))]
        drawn = grid(0, 46 * at, values[None], columns=columns)
        draw.text(-10, drawn.left[1], name, "end", bold=at == len(rows) - 1)
        draw.text(drawn.right[0] + 10, drawn.right[1], note, "start")


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


def reach(draw: Drawing) -> None:
    """A triangle: the gradient at a token arrives at that token and at earlier ones, and at no later one."""
    sizes, names = _reached(), [visible(token) for token in sentence().tokens[0]]
    draw.matrix(0, 0, sizes, rows=names, columns=names, cell=(50, 30), masked=sizes == 0)
