"""Figures of warm-up 08: the way back, which token a gradient reaches, and how exact a slope is."""

import math
from functools import partial

import numpy as np

from solutions.warmup_02 import scaled_scores
from solutions.warmup_03 import attention_weights, causal_mask
from solutions.warmup_08 import (
    causal_attention_backward,
    finite_difference,
    matmul_backward,
    softmax_backward,
    softmax_cross_entropy,
    softmax_cross_entropy_backward,
)
from tools.book_maker.drawing.svg import MINUS, Axis, Drawing

LENGTH, KEY_DIM, VALUE_DIM = 6, 4, 3  # all different, so that a shape shows what each axis is
CLASSES = 10  # of the logits whose slopes are measured


def _drawn(seed: int) -> tuple[np.ndarray, ...]:
    """Return grad, query, key, value and the weights of causal attention."""
    rng = np.random.default_rng(seed)
    query, key = rng.standard_normal((2, LENGTH, KEY_DIM))
    grad, value = rng.standard_normal((2, LENGTH, VALUE_DIM))
    return grad, query, key, value, attention_weights(query, key, causal_mask(LENGTH))


def _named(name: str, *arrays: np.ndarray) -> str:
    shapes = list(dict.fromkeys("[" + ", ".join(map(str, array.shape)) + "]" for array in arrays))
    return f"{name}  {' '.join(shapes)}"


def way_back(draw: Drawing) -> None:
    """Forward from query, key and value to the loss, and backward through the same stages, shape by shape."""
    grad, query, key, value, weights = _drawn(0)
    grad_weights, grad_value = matmul_backward(grad, weights, value)
    grad_scores = softmax_backward(grad_weights, weights) / math.sqrt(KEY_DIM)
    grad_query, grad_key, _ = causal_attention_backward(grad, query, key, value, weights)
    wide, narrow, room, high, left, right = 150, 114, 276, 36, 0, 342
    tops = [30 + at * 82 for at in range(5)]
    forward = [
        (_named("query, key", query, key), "query @ keyᵀ / √d_k"),
        (_named("scores", scaled_scores(query, key)), "softmax, masked"),
        (_named("weights", weights), "weights @ value"),
    ]
    backward = [
        (_named("gradients", grad_query, grad_key), "matmul_backward, / √d_k"),
        (_named("gradient", grad_scores), "softmax_backward"),
        (_named("gradient", grad_weights), "matmul_backward"),
    ]
    draw.heading(left + room / 2, 14, "forward")
    draw.heading(right + room / 2, 14, "backward")
    gathered = draw.box(left, tops[3], room, high, _named("gathered", weights @ value), size="small")
    gradient_box = draw.box(right, tops[3], room, high, _named("grad, its gradient", grad), "accent", size="small")
    loss = draw.box(left + room / 2, tops[4], right - left, high, "the loss, one number", size="small")
    values = draw.box(room - narrow, tops[0], narrow, high, _named("value", value), "value", size="small")
    x, y = values.bottom
    draw.arrow((x, y), (x, gathered.y - 2), kind="value")
    words = _named("gradient", grad_value)
    x, y = draw.box(right + room - narrow, tops[0], narrow, high, words, "value", size="small").bottom
    draw.arrow((x, gradient_box.y), (x, y + 2), kind="value")
    for top, below, (stage, down), (gradient, up) in zip(tops, tops[1:], forward, backward, strict=False):
        draw.box(left, top, wide, high, stage, size="small")
        draw.box(right, top, wide, high, gradient, "accent", size="small")
        draw.arrow((left + 14, top + high), (left + 14, below - 2), label=down)
        draw.arrow((right + 14, below), (right + 14, top + high + 2), label=up, kind="accent")
    start, end, foot = left + 14, right + room - 14, tops[3] + high
    draw.arrow((start, foot), (start, loss.left[1]), (loss.x - 2, loss.left[1]))
    draw.arrow(loss.right, (end, loss.right[1]), (end, foot + 2), kind="accent")
    draw.text(start + 8, foot + 23, "the rest of the model", "start")
    draw.text(end - 8, foot + 23, "back through the rest", "end")


def reach(draw: Drawing) -> None:
    """Three squares: a gradient reaches the query of its own token, and keys and values of no later one."""
    grad, *others = _drawn(2)
    reached = np.zeros((3, LENGTH, LENGTH))  # of query, key, value; from the row's token to the column's
    for token in range(LENGTH):
        alone = np.zeros_like(grad)
        alone[token] = grad[token] / np.linalg.norm(grad[token])
        reached[:, token] = [np.linalg.norm(part, axis=-1) for part in causal_attention_backward(alone, *others)]
    square = partial(draw.matrix, columns=range(LENGTH), cell=29, spec=".1f", limit=float(reached.max()))
    for at, (part, title) in enumerate(zip(reached, ("to query", "to key", "to value"), strict=True)):
        rows = () if at else [f"token {token}" for token in range(LENGTH)]
        square(186 * at, 0, part, rows=rows, masked=part == 0, title=title)


def _error(h: float, *, both_sides: bool) -> float:
    """Return the largest error of a slope of the loss of one row of random logits."""
    logits, labels = np.random.default_rng(0).standard_normal((1, CLASSES)), np.array([3])
    exact = softmax_cross_entropy_backward(logits, labels)

    def loss(some: np.ndarray) -> float:
        return softmax_cross_entropy(some, labels)

    if both_sides:
        return float(np.abs(finite_difference(loss, logits, h) - exact).max())
    steps = h * np.eye(CLASSES)[:, None]
    slopes = np.array([(loss(logits + step) - loss(logits)) / h for step in steps])
    return float(np.abs(slopes - exact).max())


def exactness(draw: Drawing) -> None:
    """The error falls with h, with its square for two sides, until rounding makes it grow again."""
    ticks = [(10.0**power, f"1e{power}".replace("-", MINUS) if power else "1") for power in range(-12, 1, 3)]
    axes = Axis(1e-12, 1, ticks, "h, how far a number is moved", log=True), Axis(1e-12, 1, ticks, log=True)
    plot = draw.plot((64, 34, 380, 230), *axes)
    draw.text(14, 14, "largest error of the slope", "start")
    steps = [10.0**-power for power in range(13)]
    for words, both_sides, kind, down in (("to one side", False, "bad", -8), ("to both sides", True, "good", 12)):
        errors = [_error(h, both_sides=both_sides) for h in steps]
        plot.curve(steps, errors, kind, radius=3)
        plot.text((1, errors[0]), words, right=12, down=down, kind=kind, size="normal")
