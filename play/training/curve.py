"""The loss over the steps: as one SVG file that needs nothing else, and as the points that a page draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from play.training.plan import History

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 46, 46  # the margins
POINTS = 300  # of the curve; in a longer training, each is the mean of several steps

STYLE = """
svg { background: white; font: 13px sans-serif; }
text { fill: #333; }
.axis { stroke: #999; stroke-width: 1; }
.grid { stroke: #ddd; stroke-width: 1; }
.train { fill: none; stroke: #7aa6d8; stroke-width: 1.5; }
.validation { fill: none; stroke: #c0392b; stroke-width: 2; }
circle { fill: #c0392b; }
.best { fill: none; stroke: #c0392b; stroke-width: 1.5; }
"""


def thinned(losses: list[float]) -> tuple[np.ndarray, np.ndarray]:  # -> two times [points]
    """Return the last steps and the means of at most :data:`POINTS` runs of steps of about equal length."""
    runs = np.array_split(np.array(losses), min(len(losses), POINTS))
    return np.cumsum([len(run) for run in runs]), np.array([run.mean() for run in runs])


def as_points(figures: dict[str, Any]) -> dict[str, Any]:
    """Return what a page draws of the figures of a training, those of ``training.json``.

    Each evaluation gets the mean training loss since the one before, as the command prints it.
    """
    losses, evaluations = figures["losses"], figures["evaluations"]
    steps, means = thinned(losses)
    before = [0, *(one["step"] for one in evaluations)]
    return {
        "planned": figures["plan"]["steps"],
        "guessing": math.log(figures["facts"]["vocab"]),
        "losses": [[int(step), round(float(mean), 4)] for step, mean in zip(steps, means, strict=True)],
        "evaluations": [
            {
                "step": one["step"],
                "training": float(np.mean(since)) if (since := losses[start : one["step"]]) else None,
                "held out": one["loss"],
                "bits per byte": one["bits_per_byte"],
            }
            for start, one in zip(before, evaluations, strict=False)
        ],
        "samples": [{"step": one["step"], "text": one["text"]} for one in figures["samples"]],
    }


def as_svg(history: History) -> str:
    """Return the losses of a training, and the validation losses with the lowest in a circle.

    There must be at least one step and one evaluation.
    """
    steps, losses = thinned(history.losses)
    at = np.array([one["step"] for one in history.evaluations])
    found = np.array([one["loss"] for one in history.evaluations])
    both = np.concatenate([losses, found])
    low, high = np.floor(2 * both.min()) / 2, np.ceil(2 * both.max()) / 2 + (both.max() == both.min())

    def x(step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * step / max(steps[-1], 1)

    def y(loss: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - loss) / max(high - low, 0.5)

    def line(kind: str, xs: np.ndarray, ys: np.ndarray) -> str:
        points = " ".join(f"{x(step):.1f},{y(loss):.1f}" for step, loss in zip(xs, ys, strict=True))
        return f'<polyline class="{kind}" points="{points}"/>'

    best = history.best
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="The loss over {steps[-1]} steps">',
        f"<style>{STYLE}</style>",
        f'<text x="{LEFT}" y="18">loss in nats per token: training (blue), held-out text (red)</text>',
        f'<text x="{LEFT}" y="35">lowest after step {best["step"]:,}: {best["loss"]:.3f} nats per token, '
        f"{best['bits_per_byte']:.3f} bits per byte</text>",
    ]
    for loss in np.arange(low, high + 0.25, 0.5 if high - low <= 4 else 1.0):
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(loss):.1f}" y2="{y(loss):.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(loss) + 4:.1f}" text-anchor="end">{loss:.1f}</text>')
    for part in range(5):
        step = round(int(steps[-1]) * part / 4)
        parts.append(
            f'<text x="{x(step):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="{"end" if part == 4 else "middle"}">'
            f"{step:,}</text>"
        )
    floor = HEIGHT - BOTTOM
    parts += [
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}"/>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">step</text>',
        line("train", steps, losses),
        line("validation", at, found),
        *(f'<circle cx="{x(step):.1f}" cy="{y(loss):.1f}" r="3"/>' for step, loss in zip(at, found, strict=True)),
        f'<circle class="best" cx="{x(best["step"]):.1f}" cy="{y(best["loss"]):.1f}" r="7"/>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
