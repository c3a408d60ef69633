"""Figures of step 17: shapes of products, GELU's slope, what a norm takes off a gradient, and the sums of a table."""

from __future__ import annotations

import math

import numpy as np

from tools.book_maker.drawing import svg

TOKENS, IN, OUT = 100, 92, 128  # how long each axis is drawn

IDS = (2, 0, 2)  # of three tokens, and their gradients, as in the chapter
GRAD = ((1, 10), (2, 20), (3, 30))
VOCAB = 4


def shapes() -> str:
    """Draw the product of a linear layer and the two of its way back, each axis as long in one as in the others."""
    lengths = {"tokens": TOKENS, "in": IN, "out": OUT}
    products = (
        (("x", "tokens", "in", "plain"), ("Wᵀ", "in", "out", "plain"), ("y", "tokens", "out", "plain")),
        (("∇y", "tokens", "out", "accent"), ("W", "out", "in", "plain"), ("∇x", "tokens", "in", "accent")),
        (("∇yᵀ", "out", "tokens", "accent"), ("x", "tokens", "in", "plain"), ("∇W", "out", "in", "accent")),
    )
    parts, top, sign, left = [], 30.0, 30, 10.0
    words = ("forward", "backward, to x", "backward, to W")
    for name, product in zip(words, products, strict=True):
        high = max(lengths[rows] for _, rows, _, _ in product)
        parts.append(svg.text(left, top - 14, name, anchor="start", size="small", bold=True))
        x = left
        for place, (factor, rows, columns, kind) in enumerate(product):
            height, width = lengths[rows], lengths[columns]
            label = f"{factor}\n[{rows}, {columns}]"
            middle = top + high / 2
            parts.append(svg.box(x, middle - height / 2, width, height, label, size="small", kind=kind, round=0))  # type: ignore[arg-type]
            if place < 2:
                parts.append(svg.text(x + width + sign / 2, middle, "@="[place], mono=True))
            x += width + sign
        top += high + 40
    return svg.figure(
        left + IN + 2 * OUT + 2 * sign + 8,
        top - 30,
        *parts,
        title="One product forward, and two of the same size backward: each sums over the axis that its factors share",
    )


def gelu_slope() -> str:
    """Draw the slope of GELU by tanh, the two parts of it, and the slope of ReLU."""
    x = np.linspace(-4, 4, 401)
    factor, cubic = math.sqrt(2 / math.pi), 0.044715
    tanh = np.tanh(factor * (x + cubic * x**3))
    first, second = 0.5 * (1 + tanh), 0.5 * x * (1 - tanh**2) * factor * (1 + 3 * cubic * x**2)
    plot = svg.Plot(46, 20, 360, 240, (-4, 4), (-0.4, 1.2))
    left, zero, right = plot.at(-4, 0), plot.at(0, 0), plot.at(4, 1)
    return svg.figure(
        424,
        312,
        plot.axes(x_ticks=[-4, -2, 0, 2, 4], y_ticks=[-0.4, 0, 0.4, 0.8, 1.2], x_label="x"),
        svg.polyline([left, zero, plot.at(0, 1), right], kind="muted", dashed=True),
        plot.curve(x, first, kind="key", dashed=True),
        plot.curve(x, second, kind="query", dashed=True),
        plot.curve(x, first + second, kind="accent"),
        svg.text(*plot.at(-3.9, 0.86), "slope of GELU", anchor="start", size="small", kind="accent"),
        svg.text(*plot.at(-3.9, 0.74), "first part, through x itself", anchor="start", size="small", kind="key"),
        svg.text(*plot.at(-3.9, 0.62), "second part, through tanh", anchor="start", size="small", kind="query"),
        svg.text(*plot.at(-3.9, 0.5), "slope of ReLU", anchor="start", size="small", kind="muted"),
        title="GELU's slope goes from 0 to 1, dips below 0 on the left of zero and rises above 1 on its right",
    )


def projection() -> str:
    """Draw, for three channels, a gradient at the normalized token and its parts along the token and the circle."""
    plane = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])  # two directions without a mean
    token, grad = np.array([3.0, -1.0, 0.4]), np.array([1.4, 0.2, -0.4])
    normalized = (token - token.mean()) / token.std()
    centered = grad - grad.mean()
    along = normalized * (grad * normalized).mean()
    scale, radius = 72, math.sqrt(3)
    middle = (136.0, 158.0)

    def at(vector: np.ndarray) -> tuple[float, float]:
        across, up = plane @ vector
        return middle[0] + scale * float(across), middle[1] - scale * float(up)

    tip = at(normalized)
    ends = {name: at(normalized + part) for name, part in {"all": centered, "along": along}.items()}
    kept = at(normalized + centered - along)
    points = [
        (middle[0] + scale * radius * math.cos(turn), middle[1] - scale * radius * math.sin(turn))
        for turn in np.linspace(0, 2 * math.pi, 91)
    ]
    return svg.figure(
        424,
        296,
        svg.polyline(points, kind="muted"),
        svg.arrow(*middle, *tip, kind="plain"),
        svg.arrow(*tip, *ends["all"], kind="query"),
        svg.arrow(*tip, *ends["along"], kind="bad", dashed=True),
        svg.arrow(*tip, *kept, kind="good"),
        svg.line(*ends["all"], *ends["along"], kind="muted", dashed=True),
        svg.line(*ends["all"], *kept, kind="muted", dashed=True),
        svg.text(middle[0] + 56, middle[1] + 14, "normalized", size="small"),
        svg.text(ends["all"][0], ends["all"][1] - 14, "gradient, mean subtracted", size="small", kind="query"),
        svg.text(ends["along"][0], ends["along"][1] + 16, "subtracted as well", size="small", kind="bad"),
        svg.text(kept[0] - 8, (kept[1] + tip[1]) / 2 + 6, "kept", anchor="end", size="small", kind="good"),
        title="A gradient at a point of a circle; only its part along the circle is kept, that along the radius is not",
    )


def table() -> str:
    """Draw three tokens with their gradients, and the table whose rows are the sums."""
    sums = np.zeros((VOCAB, 2))
    for row, grad in zip(IDS, GRAD, strict=True):
        sums[row] += grad
    cell, left, right, top = (44.0, 34.0), 72.0, 286.0, 44.0
    parts = [
        svg.matrix(
            left,
            top + cell[1] / 2,
            np.array(GRAD),
            rows=[f"id {row}" for row in IDS],
            cell=cell,
            spec=".0f",
            kind="accent",
            title="∇y of 3 tokens",
        ),
        svg.matrix(
            right,
            top,
            sums,
            rows=[f"row {row}" for row in range(VOCAB)],
            cell=cell,
            spec=".0f",
            masked=np.repeat(~np.isin(np.arange(VOCAB), IDS)[:, None], 2, axis=1),
            kind="accent",
            title="∇ of the table",
        ),
    ]
    for token, row in enumerate(IDS):
        start, end = top + (token + 1) * cell[1], top + (row + 0.5) * cell[1]
        parts.append(svg.arrow(left + 2 * cell[0] + 4, start, right - 50, end + 4 * (token - 1)))
    return svg.figure(
        right + 2 * cell[0] + 12,
        top + VOCAB * cell[1] + 12,
        *parts,
        title="The gradients of tokens 0 and 2 are added to row 2, that of token 1 to row 0; rows 1 and 3 stay 0",
    )
