"""Figure of step 03: what a token is divided by, and where epsilon takes over."""

import numpy as np

from checker.course.steps import find_step
from checker.numeric.references import Reference
from tools.book_maker.drawing.svg import Axis, Drawing


def epsilon(draw: Drawing) -> None:
    """Above a deviation of about 0.1 the curve is a straight line; below, it flattens at the root of epsilon."""
    reference = Reference(find_step("03").reference_file)
    eps = float(reference.config["layer_norm_epsilon"])
    variances = np.asarray(reference["input"].var(axis=-1)).reshape(-1)
    deviations, ticks = np.geomspace(1e-3, 10, 200), [(10.0**power, f"{10.0**power:g}") for power in range(-3, 2)]
    across = Axis(1e-3, 10, ticks, "standard deviation of a token's channels", log=True)
    plot = draw.plot((70, 30, 330, 250), across, Axis(1e-3, 10, ticks, "divided by", log=True))
    plot.curve(deviations, deviations, "key", dashed=True)
    plot.curve(deviations, np.sqrt(deviations**2 + eps))
    plot.dots(np.sqrt(variances), np.sqrt(variances + eps), "query")
    quiet = float(variances.min())
    plot.text((quiet**0.5, (quiet + eps) ** 0.5), "hardly varies", "middle", down=-20)
    plot.text((0.0045, 0.0045), "without epsilon", right=12, down=10, kind="key")
    plot.text((1.2e-3, eps**0.5), f"epsilon = {eps:g}", down=14)
