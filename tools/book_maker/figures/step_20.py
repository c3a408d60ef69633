"""Figures of step 20: the parts of a training step, the schedule, clipping, and why the decay is decoupled."""

from __future__ import annotations

import math

import numpy as np

from solutions.solution_20 import AdamW, learning_rate
from tools.book_maker.drawing.svg import Kind, Plot, arrow, box, circle, figure, polyline, text

WARMUP, TOTAL = 32, 200  # steps

LONG, SHORT, MAX_NORM = (2.2, 0.5), (0.3, 0.7), 1.0  # two gradients of two numbers

DECAY_STEPS, RATE, DECAY = 200, 0.01, 0.5
SIZES: dict[float, Kind] = {1.0: "accent", 10.0: "key"}  # of the gradients of two weights


def one_step() -> str:
    """Draw what a training step reads and writes: accumulate once per batch, update once."""
    names, left, wide, step, high = ("weights", "sums", "means", "squares"), 14.0, 132.0, 156.0, 38.0
    top, middle, bottom = 34.0, 132.0, 236.0
    places = {name: left + at * step for at, name in enumerate(names)}
    parts = [box(x, middle, wide, high, name, kind="value") for name, x in places.items()]
    parts += [
        box(places["weights"], top, 2 * wide + step - wide, high, "Accumulate, once per batch", kind="query"),
        box(places["weights"], bottom, 3 * step + wide, high, "Update, once per step", kind="key"),
        text(places["means"] + 4, top + high / 2, "returns losses and count", anchor="start", size="small"),
        text(places["weights"] + wide / 2, top - 18, "input_ids, labels", size="small"),
        arrow(places["weights"] + wide / 2, top - 8, places["weights"] + wide / 2, top - 1),
        arrow(places["weights"] + wide / 2, middle, places["weights"] + wide / 2, top + high + 2),
        text(places["weights"] + wide / 2 + 8, (top + high + middle) / 2, "reads", anchor="start", size="small"),
        arrow(places["sums"] + wide / 2, top + high, places["sums"] + wide / 2, middle - 2, kind="accent"),
        text(places["sums"] + wide / 2 + 8, (top + high + middle) / 2, "adds to", anchor="start", size="small"),
    ]
    written = {"weights": "moves", "sums": "sets to 0", "means": "averages", "squares": "averages"}
    for name, words in written.items():
        center = places[name] + wide / 2
        parts.append(arrow(center - 12, middle + high, center - 12, bottom - 2))
        parts.append(arrow(center + 2, bottom, center + 2, middle + high + 2, kind="accent"))
        parts.append(text(center + 10, (middle + high + bottom) / 2, words, anchor="start", size="small"))
    return figure(
        places["squares"] + wide + 14,
        bottom + high + 12,
        *parts,
        title="Accumulate reads the weights and adds to the sums; Update reads all four and writes into all four",
    )


def schedule() -> str:
    """Draw the learning rate of every step."""
    plot = Plot(70, 36, 480, 170, (0, TOTAL), (0.0, 1.15))
    steps = np.arange(1, TOTAL + 1)
    rates = [learning_rate(int(at), peak=1.0, warmup_steps=WARMUP, total_steps=TOTAL) for at in steps]
    ticks = [(0, "0"), (WARMUP, "warmup_steps"), ((WARMUP + TOTAL) / 2, "halfway"), (TOTAL, "total_steps")]
    return figure(
        600,
        266,
        plot.axes(
            x_ticks=ticks, y_ticks=[(0, "0"), (0.5, "peak / 2"), (1, "peak")], x_label="step", y_label="learning rate"
        ),
        plot.curve(steps, rates),
        title="The learning rate rises in a straight line, then falls along half a cosine to 0",
    )


def clipping() -> str:
    """Draw two gradients of two numbers and the circle that none may leave; beside it, numbers cut off one by one."""
    scale, radius = 78.0, 78.0 * MAX_NORM
    parts = []
    for at, (title, one_factor) in enumerate({"one factor for all": True, "each number cut off": False}.items()):
        x, y = 96.0 + 310 * at, 132.0

        def place(point: tuple[float, float], x: float = x, y: float = y) -> tuple[float, float]:
            return x + scale * point[0], y - scale * point[1]

        corner = [place(one) for one in ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1))]
        turn = np.linspace(0, 2 * math.pi, 73)
        ring = [place((math.cos(angle), math.sin(angle))) for angle in turn]
        parts.append(text(x + 60, 20, title, bold=True))
        parts.append(polyline(ring if one_factor else corner, kind="muted", dashed=True))
        parts.append(arrow(*place((0, 0)), *place(LONG), kind="muted"))
        factor = MAX_NORM / math.hypot(*LONG)
        kept = (LONG[0] * factor, LONG[1] * factor) if one_factor else (min(LONG[0], MAX_NORM), LONG[1])
        parts.append(arrow(*place((0, 0)), *place(kept), kind="good" if one_factor else "bad"))
        parts.append(arrow(*place((0, 0)), *place(SHORT), kind="good"))
        parts.append(circle(x, y, 3))
        words = "the same direction" if one_factor else "another direction"
        parts.append(text(x + 60, y + radius + 26, words, size="small"))
    return figure(
        640,
        246,
        *parts,
        title="By one factor, a long gradient keeps its direction; with each number cut off, it turns",
    )


def decay() -> str:
    """Draw how two weights decay whose gradients differ in size: decoupled, and inside the gradient."""
    parts = []
    for at, (title, decoupled) in enumerate({"decoupled": True, "inside the gradient": False}.items()):
        plot = Plot(56 + 305 * at, 48, 240, 160, (0, DECAY_STEPS), (0.0, 1.0))
        axes = plot.axes(x_ticks=[0, DECAY_STEPS], y_ticks=[0, 0.5, 1], x_label="step", y_label="weight")
        parts += [axes, text(plot.x + 120, 18, title, bold=True)]
        for size, kind in SIZES.items():
            parts.append(plot.curve(range(DECAY_STEPS + 1), _decaying(size, decoupled), kind=kind, dashed=size > 1))
    few, many = SIZES
    parts.append(text(316, 268, f"solid: a weight with gradients of ±{few:g}; dashed: of ±{many:g}"))
    return figure(
        640,
        284,
        *parts,
        title="Decoupled, two weights decay alike; inside the gradient, the one with large gradients hardly decays",
    )


def _decaying(size: float, decoupled: bool) -> list[float]:
    """Return a weight after each step, from 1 on; its gradients have one size, and another sign each time."""
    weight, optimizer = 1.0, AdamW()
    mean, square, weights = 0.0, 0.0, [weight]
    for step in range(1, DECAY_STEPS + 1):
        gradient = size * (-1) ** step + (0.0 if decoupled else DECAY * weight)
        mean = optimizer.beta1 * mean + (1 - optimizer.beta1) * gradient
        square = optimizer.beta2 * square + (1 - optimizer.beta2) * gradient**2
        direction = mean / (1 - optimizer.beta1**step) / math.sqrt(square / (1 - optimizer.beta2**step))
        weight -= RATE * (direction + (DECAY * weight if decoupled else 0.0))
        weights.append(weight)
    return weights
