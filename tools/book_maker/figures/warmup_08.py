"""Figures of warm-up 08: the way back, which token a gradient reaches, and how exact a slope is."""

from __future__ import annotations

import math

import numpy as np

from solutions.warmup_02 import scaled_scores
from solutions.warmup_03 import attention_weights, lookback_mask
from solutions.warmup_08 import (
    causal_attention_backward,
    finite_difference,
    matmul_backward,
    softmax_backward,
    softmax_cross_entropy,
    softmax_cross_entropy_backward,
)
from tools.book_maker.drawing import svg

WORDS = ("Your", "journey", "starts", "with", "one", "step")
LENGTH, KEY_DIM, VALUE_DIM = 6, 4, 3  # all different, so that a shape shows what each axis is
CLASSES = 10  # of the logits whose slopes are measured


def _drawn(seed: int) -> tuple[np.ndarray, ...]:
    """Return grad, query, key, value and the weights of causal attention."""
    rng = np.random.default_rng(seed)
    query, key = rng.standard_normal((2, LENGTH, KEY_DIM))
    grad, value = rng.standard_normal((2, LENGTH, VALUE_DIM))
    return grad, query, key, value, attention_weights(query, key, lookback_mask(LENGTH))


def _named(name: str, *arrays: np.ndarray) -> str:
    shapes = list(dict.fromkeys("[" + ", ".join(map(str, array.shape)) + "]" for array in arrays))
    return f"{name}  {' '.join(shapes)}"


def way_back() -> str:
    """Draw what goes forward on the left and its gradient on the right. The shapes are those of real arrays."""
    grad, query, key, value, weights = _drawn(0)
    grad_weights, grad_value = matmul_backward(grad, weights, value)
    grad_scores = softmax_backward(grad_weights, weights) / math.sqrt(KEY_DIM)
    grad_query, grad_key, _ = causal_attention_backward(grad, query, key, value, weights)
    wide, narrow, gap, high, step, left, right = 150, 114, 12, 36, 82, 8, 350
    room = wide + gap + narrow
    tops = [30 + at * step for at in range(5)]
    forward = [
        _named("query, key", query, key),
        _named("scores", scaled_scores(query, key)),
        _named("weights", weights),
    ]
    back = [
        _named("gradients", grad_query, grad_key),
        _named("gradient", grad_scores),
        _named("gradient", grad_weights),
    ]
    down = ["query @ keyᵀ / √d_k", "softmax, masked", "weights @ value"]
    up = ["matmul_backward, / √d_k", "softmax_backward", "matmul_backward"]
    parts = [
        svg.text(left + room / 2, 14, "forward", bold=True),
        svg.text(right + room / 2, 14, "backward", bold=True),
        svg.box(left + wide + gap, tops[0], narrow, high, _named("value", value), size="small", kind="value"),
        svg.box(right + wide + gap, tops[0], narrow, high, _named("gradient", grad_value), size="small", kind="value"),
        svg.box(left, tops[3], room, high, _named("gathered", weights @ value), size="small"),
        svg.box(right, tops[3], room, high, _named("grad, its gradient", grad), size="small", kind="accent"),
        svg.box(left + room / 2, tops[4], right - left, high, "the loss, one number", size="small"),
        svg.arrow(
            left + wide + gap + narrow / 2, tops[0] + high, left + wide + gap + narrow / 2, tops[3] - 2, kind="value"
        ),
        svg.arrow(
            right + wide + gap + narrow / 2, tops[3], right + wide + gap + narrow / 2, tops[0] + high + 2, kind="value"
        ),
    ]
    for at in range(3):
        top, below = tops[at], tops[at + 1]
        parts += [
            svg.box(left, top, wide, high, forward[at], size="small"),
            svg.box(right, top, wide, high, back[at], size="small", kind="accent"),
            svg.arrow(left + 14, top + high, left + 14, below - 2, label=down[at]),
            svg.arrow(right + 14, below, right + 14, top + high + 2, label=up[at], kind="accent"),
        ]
    middle = tops[4] + high / 2
    parts += [
        svg.polyline([(left + 14, tops[3] + high), (left + 14, middle), (left + room / 2 - 2, middle)], head=True),
        svg.polyline(
            [(right + room / 2, middle), (right + room - 14, middle), (right + room - 14, tops[3] + high + 2)],
            head=True,
            kind="accent",
        ),
        svg.text(left + 22, tops[3] + high + 23, "the rest of the model", size="small", anchor="start"),
        svg.text(right + room - 22, tops[3] + high + 23, "back through the rest", size="small", anchor="end"),
    ]
    return svg.figure(
        right + room + 8,
        tops[4] + high + 10,
        *parts,
        title="Forward from query, key and value to the loss, and backward through the same stages, shape by shape",
    )


def reach() -> str:
    """Draw how much of a grad at one token (the row) reaches query, key and value of every token (the column)."""
    grad, *others = _drawn(2)
    reached = np.zeros((3, LENGTH, LENGTH))  # of query, key, value; from the row's token to the column's
    for token in range(LENGTH):
        alone = np.zeros_like(grad)
        alone[token] = grad[token] / np.linalg.norm(grad[token])
        reached[:, token] = [np.linalg.norm(one, axis=-1) for one in causal_attention_backward(alone, *others)]
    cell, left, top, step = 29, 84, 56, 186
    titles = ("to query", "to key", "to value")
    return svg.figure(
        left + 2 * step + LENGTH * cell + 10,
        top + LENGTH * cell + 12,
        *(
            svg.matrix(
                left + at * step,
                top,
                part,
                rows=[f"{word}  {token}" for token, word in enumerate(WORDS)] if at == 0 else None,
                columns=range(LENGTH),
                cell=cell,
                spec=".1f",
                limit=float(reached.max()),
                masked=part == 0,
                title=title,
            )
            for at, (part, title) in enumerate(zip(reached, titles, strict=True))
        ),
        title="Three squares: a gradient reaches the query of its own token, and keys and values of no later one",
    )


def _error(h: float, *, both_sides: bool) -> float:
    """Return the largest error of a slope of the loss of one row of random logits."""
    logits, labels = np.random.default_rng(0).standard_normal((1, CLASSES)), np.array([3])
    exact = softmax_cross_entropy_backward(logits, labels)

    def loss(some: np.ndarray) -> float:
        return softmax_cross_entropy(some, labels)

    if both_sides:
        return float(np.abs(finite_difference(loss, logits, h) - exact).max())
    steps = h * np.eye(CLASSES)[:, None]
    slopes = np.array([(loss(logits + one) - loss(logits)) / h for one in steps])
    return float(np.abs(slopes - exact).max())


def exactness() -> str:
    """Draw the error of slopes to one side and to both sides, for steps from 1 down to 1e-12."""
    steps = [10.0**-power for power in range(13)]
    one, both = ([_error(h, both_sides=sides) for h in steps] for sides in (False, True))
    plot = svg.Plot(64, 34, 380, 230, (1e-12, 1), (1e-12, 1), log_x=True, log_y=True)
    ticks = [(10.0**power, f"1e{power}".replace("-", svg.MINUS) if power else "1") for power in range(-12, 1, 3)]
    return svg.figure(
        600,
        320,
        plot.axes(x_ticks=ticks, y_ticks=ticks, x_label="h, how far a number is moved"),
        svg.text(plot.x - 50, 14, "largest error of the slope", anchor="start", size="small"),
        plot.curve(steps, one, kind="bad"),
        plot.dots(steps, one, kind="bad", radius=3),
        plot.curve(steps, both, kind="good"),
        plot.dots(steps, both, kind="good", radius=3),
        svg.text(plot.x + plot.width + 12, plot.at(1, one[0])[1] - 8, "to one side", anchor="start", kind="bad"),
        svg.text(plot.x + plot.width + 12, plot.at(1, both[0])[1] + 12, "to both sides", anchor="start", kind="good"),
        title="The error falls with h, with its square for two sides, until rounding makes it grow again",
    )
