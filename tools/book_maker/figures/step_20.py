"""Figures of step 20: a training step, descent and AdamW, the schedule, clipping, and why the decay is decoupled."""

import math

import numpy as np

from solutions.solution_20 import AdamW, learning_rate
from tools.book_maker.drawing.svg import Axis, Drawing, Point
from tools.book_maker.values import descent as experiment

WARMUP, TOTAL = 32, 200  # steps

LONG, SHORT, MAX_NORM = (2.2, 0.5), (0.3, 0.7), 1.0  # two gradients of two numbers
SCALE = 78.0  # pixels for a length of one

DECAY_STEPS, RATE, DECAY = 200, 0.01, 0.5
SIZES = {1.0: "accent", 10.0: "key"}  # of the gradients of two weights


def one_step(draw: Drawing) -> None:
    """Accumulate reads the weights and adds to the sums; Update reads all four and writes into all but the sums."""
    written = {"weights": "moves", "sums": "", "m": "averages", "v": "averages"}
    parts = [draw.box(156 * at, 132, 132, 38, name, "value") for at, name in enumerate(written)]
    weights, sums = parts[0].middle[0], parts[1].middle[0]
    accumulate = draw.box(0, 34, 288, 38, "Accumulate, once per batch", "query")
    update = draw.box(0, 236, 600, 38, "Update, once per step", "key")
    draw.text(316, 53, "returns losses and count", "start")
    draw.text(weights, 16, "input_ids, labels")
    draw.arrow((weights, 26), (weights, 33))
    draw.arrow((weights, 132), (weights, 74))
    draw.text(weights + 8, 102, "reads", "start")
    draw.arrow((sums, accumulate.bottom[1]), (sums, 130), kind="accent")
    draw.text(sums + 8, 102, "adds to", "start")
    for part, words in zip(parts, written.values(), strict=True):
        x, y = part.bottom
        draw.arrow((x - 12, y), (x - 12, update.y - 2))
        if words:
            draw.arrow((x + 2, update.y), (x + 2, y + 2), kind="accent")
        draw.text(x + 10, (y + update.y) / 2, words, "start")


def schedule(draw: Drawing) -> None:
    """The learning rate rises in a straight line, then falls along half a cosine to 0."""
    steps = np.arange(1, TOTAL + 1)
    rates = [learning_rate(int(at), peak=1.0, warmup_steps=WARMUP, total_steps=TOTAL) for at in steps]
    ticks = [(0, "0"), (WARMUP, "warmup_steps"), ((WARMUP + TOTAL) / 2, "halfway"), (TOTAL, "total_steps")]
    rate = Axis(0, 1.15, [(0, "0"), (0.5, "peak / 2"), (1, "peak")], "learning rate")
    plot = draw.plot((70, 36, 480, 170), Axis(0, TOTAL, ticks, "step"), rate)
    plot.curve(steps, rates)


def clipping(draw: Drawing) -> None:
    """By one factor, a long gradient keeps its direction; with each number cut off, it turns."""
    turns = np.linspace(0, 2 * math.pi, 73)
    circle: list[Point] = [(math.cos(turn), math.sin(turn)) for turn in turns]
    square: list[Point] = [(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]
    factor = MAX_NORM / math.hypot(*LONG)
    scaled, cut = (LONG[0] * factor, LONG[1] * factor), (min(LONG[0], MAX_NORM), LONG[1])
    for left, title, border, clipped, kind, words in (
        (96, "one factor for all", circle, scaled, "good", "the same direction"),
        (406, "each number cut off", square, cut, "bad", "another direction"),
    ):

        def place(point: Point, left: float = left) -> Point:
            return left + SCALE * point[0], 132 - SCALE * point[1]

        draw.heading(left + 60, 20, title)
        draw.line(*map(place, border), kind="muted", dashed=True)
        for gradient, color in ((LONG, "muted"), (clipped, kind), (SHORT, "good")):
            draw.arrow(place((0, 0)), place(gradient), kind=color)
        draw.circle(*place((0, 0)), 3)
        draw.text(left + 60, 158 + SCALE, words)


def descent(draw: Drawing) -> None:
    """The loss of plain descent falls faster at first; AdamW's ends lower."""
    steps = range(0, experiment.STEPS + 1, experiment.EVERY)
    ticks = range(0, experiment.STEPS + 1, 50)
    losses = Axis(2.2, 4.4, [2.5, 3, 3.5, 4], "loss")
    plot = draw.plot((40, 36, 370, 200), Axis(0, experiment.STEPS, ticks, "step"), losses)
    for at, (way, kind) in enumerate((("descent", "bad"), ("AdamW", "good"))):
        plot.curve(steps, experiment.best(way), kind)
        rate = f"{way}, learning rate {experiment.best_rate(way):g}"
        draw.text(400, 62 + 24 * at, rate, "end", kind=kind, size="normal")


def decay(draw: Drawing) -> None:
    """Decoupled, two weights decay alike; inside the gradient, the one with large gradients hardly decays."""
    for left, title, decoupled in ((56, "decoupled", True), (361, "inside the gradient", False)):
        axes = Axis(0, DECAY_STEPS, [0, DECAY_STEPS], "step"), Axis(0, 1, [0, 0.5, 1], "weight")
        plot = draw.plot((left, 48, 240, 160), *axes)
        draw.heading(left + 120, 18, title)
        for size, kind in SIZES.items():
            plot.curve(range(DECAY_STEPS + 1), _decaying(size, decoupled), kind, dashed=size > 1)
    few, many = SIZES
    draw.text(316, 268, f"solid: a weight with gradients of ±{few:g}; dashed: of ±{many:g}", size="normal")


def _decaying(size: float, decoupled: bool) -> list[float]:
    """Return a weight after each step, from 1 on; its gradients have one size, and another sign each time."""
    weight, optimizer = 1.0, AdamW()
    m, v, weights = 0.0, 0.0, [weight]
    for step in range(1, DECAY_STEPS + 1):
        gradient = size * (-1) ** step + (0.0 if decoupled else DECAY * weight)
        m = optimizer.beta1 * m + (1 - optimizer.beta1) * gradient
        v = optimizer.beta2 * v + (1 - optimizer.beta2) * gradient**2
        direction = m / (1 - optimizer.beta1**step) / math.sqrt(v / (1 - optimizer.beta2**step))
        weight -= RATE * (direction + (DECAY * weight if decoupled else 0.0))
        weights.append(weight)
    return weights
