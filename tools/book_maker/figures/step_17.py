"""Figures of step 17: values forward and gradients back, shapes of products, GELU's slope, a norm's projection."""

import math

import numpy as np

from tools.book_maker.drawing.svg import Axis, Box, Drawing, Point

LENGTHS = {"tokens": 100, "in": 92, "out": 128}  # how long each axis is drawn
SIGN = 30  # the room of a sign between two boxes

X, WEIGHT, BIAS = (2, 1), 3, 1  # of a layer with one weight, on two tokens


def there_and_back(draw: Drawing) -> None:
    """Values go from left to right, gradients from right to left; a weight's is the sum over both tokens."""
    outputs = [WEIGHT * x + BIAS for x in X]  # also their gradients: the loss is half the sum of squares
    cell = (116.0, 46.0)

    def part(left: float, top: float, words: str, gradient: str = "") -> Box:
        box = draw.box(left, top, *cell, words, mono=True)
        if gradient:
            draw.text(box.bottom[0], box.bottom[1] + 14, f"∇ {gradient}", kind="accent", mono=True)
        return box

    sums = " + ".join(f"{y}·{x}" for x, y in zip(X, outputs, strict=True))
    weight = part(0, 98, f"weight {WEIGHT}", f"{sums} = {sum(x * y for x, y in zip(X, outputs, strict=True))}")
    bias = part(0, 196, f"bias {BIAS}", f"{' + '.join(map(str, outputs))} = {sum(outputs)}")
    loss = part(460, 147, f"loss {sum(y * y for y in outputs) / 2:g}")
    for token, (x, y) in enumerate(zip(X, outputs, strict=True)):
        inner = part(0, 294 * token, f"x{token} = {x}", f"{y}·{WEIGHT} = {y * WEIGHT}")
        output = part(230, 49 + 196 * token, f"y{token} = {y}", f"{y}")
        for before in (inner, weight, bias):
            draw.arrow(before.right, output.left)
        draw.arrow(output.right, loss.left)


def shapes(draw: Drawing) -> None:
    """One product forward, and two of the same size backward: each sums over the axis that its factors share."""
    products = {
        "forward": (("x", "tokens", "in"), ("Wᵀ", "in", "out"), ("y", "tokens", "out")),
        "backward, to x": (("∇y", "tokens", "out"), ("W", "out", "in"), ("∇x", "tokens", "in")),
        "backward, to W": (("∇yᵀ", "out", "tokens"), ("x", "tokens", "in"), ("∇W", "out", "in")),
    }
    top = 0.0
    for name, factors in products.items():
        high, x = max(LENGTHS[rows] for _, rows, _ in factors), 0.0
        middle = top + high / 2
        draw.text(0, top - 14, name, "start", bold=True)
        for (factor, rows, columns), sign in zip(factors, ("@", "=", ""), strict=True):
            height, width = LENGTHS[rows], LENGTHS[columns]
            label, kind = f"{factor}\n[{rows}, {columns}]", "accent" if factor.startswith("∇") else "plain"
            draw.box(x, middle - height / 2, width, height, label, kind, size="small", round=0)
            x += width + SIGN
            draw.text(x - SIGN / 2, middle, sign, size="normal", mono=True)
        top += high + 40


def gelu_slope(draw: Drawing) -> None:
    """GELU's slope goes from 0 to 1, dips below 0 on the left of zero and rises above 1 on its right."""
    x = np.linspace(-4, 4, 401)
    factor, cubic = math.sqrt(2 / math.pi), 0.044715
    tanh = np.tanh(factor * (x + cubic * x**3))
    first, second = 0.5 * (1 + tanh), 0.5 * x * (1 - tanh**2) * factor * (1 + 3 * cubic * x**2)
    heights = Axis(-0.4, 1.2, [-0.4, 0, 0.4, 0.8, 1.2])
    plot = draw.plot((46, 20, 360, 240), Axis(-4, 4, range(-4, 5, 2), "x"), heights)
    draw.line(plot.at(-4, 0), plot.at(0, 0), plot.at(0, 1), plot.at(4, 1), kind="muted", dashed=True)
    plot.curve(x, first, "key", dashed=True)
    plot.curve(x, second, "query", dashed=True)
    plot.curve(x, first + second)
    plot.text((-3.9, 0.86), "slope of GELU", kind="accent")
    plot.text((-3.9, 0.74), "first part, through x itself", kind="key")
    plot.text((-3.9, 0.62), "second part, through tanh", kind="query")
    plot.text((-3.9, 0.5), "slope of ReLU", kind="muted")


def projection(draw: Drawing) -> None:
    """A gradient at a point of a circle; only its part along the circle is kept, that along the radius is not."""
    plane = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])  # two directions without a mean
    token, grad = np.array([3.0, -1.0, 0.4]), np.array([1.4, 0.2, -0.4])
    normalized = (token - token.mean()) / token.std()
    centered = grad - grad.mean()
    along = normalized * (grad * normalized).mean()
    scale = 72  # pixels for a length of one; the origin is the middle of the circle

    def at(vector: np.ndarray) -> Point:
        across, up = plane @ vector
        return scale * float(across), -scale * float(up)

    tip, all_of_it, radial = at(normalized), at(normalized + centered), at(normalized + along)
    tangent = at(normalized + centered - along)
    radius, turns = scale * math.sqrt(3), np.linspace(0, 2 * math.pi, 91)
    draw.line(*((radius * math.cos(turn), -radius * math.sin(turn)) for turn in turns), kind="muted")
    draw.arrow((0, 0), tip)
    draw.arrow(tip, all_of_it, kind="query")
    draw.arrow(tip, radial, kind="bad", dashed=True)
    draw.arrow(tip, tangent, kind="good")
    draw.line(all_of_it, radial, kind="muted", dashed=True)
    draw.line(all_of_it, tangent, kind="muted", dashed=True)
    draw.text(56, 14, "normalized")
    draw.text(all_of_it[0], all_of_it[1] - 14, "gradient, mean subtracted", kind="query")
    draw.text(radial[0], radial[1] + 16, "subtracted as well", kind="bad")
    draw.text(tangent[0] - 8, (tangent[1] + tip[1]) / 2 + 6, "kept", "end", kind="good")
