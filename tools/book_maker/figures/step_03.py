"""Figure of step 03: what a token is divided by, and where epsilon takes over."""

from __future__ import annotations

import numpy as np

from checker.course.steps import find_step
from checker.numeric.references import Reference
from tools.book_maker.drawing import svg


def epsilon() -> str:
    """Draw the divisor against the standard deviation, with the tokens of the check's input."""
    reference = Reference(find_step("03").reference_file)
    eps = float(reference.config["layer_norm_epsilon"])
    variances = np.asarray(reference["input"].var(axis=-1)).reshape(-1)
    deviations = np.geomspace(1e-3, 10, 200)
    plot = svg.Plot(70, 30, 330, 250, (1e-3, 10), (1e-3, 10), log_x=True, log_y=True)
    ticks = [(10.0**power, f"{10.0**power:g}") for power in range(-3, 2)]
    quiet = variances.argmin()
    x, y = plot.at(float(np.sqrt(variances[quiet])), float(np.sqrt(variances[quiet] + eps)))
    return svg.figure(
        424,
        336,
        plot.axes(
            x_ticks=ticks,
            y_ticks=ticks,
            x_label="standard deviation of a token's channels",
            y_label="divided by",
        ),
        plot.curve(deviations, deviations, kind="key", dashed=True),
        plot.curve(deviations, np.sqrt(deviations**2 + eps)),
        plot.dots(np.sqrt(variances), np.sqrt(variances + eps), kind="query"),
        svg.text(x, y - 20, "hardly varies", size="small"),
        svg.text(*_beside(plot, 0.0045, 0.0045, 12, 10), "without epsilon", anchor="start", size="small", kind="key"),
        svg.text(
            *_beside(plot, 1.2e-3, float(np.sqrt(eps)), 0, 14), f"epsilon = {eps:g}", anchor="start", size="small"
        ),
        title="Above a deviation of about 0.1 the curve is a straight line; below, it flattens at the root of epsilon",
    )


def _beside(plot: svg.Plot, x: float, y: float, right: float, down: float) -> tuple[float, float]:
    place = plot.at(x, y)
    return place[0] + right, place[1] + down
