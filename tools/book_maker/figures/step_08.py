"""Figures of step 08: where the normalization stands, and how much of the input is left after many sublayers."""

import numpy as np

from solutions.solution_01 import GPT2Config
from tools.book_maker.drawing.svg import Axis, Drawing

WIDTH = 256  # channels of the random sublayers
VECTORS = 64  # over which a figure is averaged


def pre_and_post(draw: Drawing) -> None:
    """With pre-norm one path from x to the output has only sums; with post-norm all pass the norm."""
    _block(draw, 0, "pre-norm: GPT-2", ["norm", "sublayer"], [], "good")
    _block(draw, 220, "post-norm", ["sublayer"], ["norm"], "bad")


def _block(draw: Drawing, middle: float, title: str, inside: list[str], above: list[str], kind: str) -> None:
    """Draw a path straight up beside a sublayer, with parts ``inside`` the bypass and ``above`` the sum."""
    draw.heading(middle, 14, title)
    draw.text(middle, 244, "x", size="normal", mono=True, bold=True)

    def part(words: str, foot: float, length: float) -> float:
        """Draw a part at the end of an arrow; return where its top is."""
        color = "key" if words == "sublayer" else "plain"
        drawn = draw.box(middle - 55, foot - length - 32, 110, 32, words, color, mono=True)
        draw.arrow((middle, foot), drawn.bottom)
        return drawn.y

    y = 232.0
    for words in inside:
        y = part(words, y, 28)
    join = y - 26
    draw.arrow((middle, y), (middle, join + 10))
    draw.circle(middle, join, 10, "+")
    draw.arrow((middle, 218), (middle - 84, 218), (middle - 84, join), (middle - 10, join), kind=kind)
    y = join - 10
    for words in above:
        y = part(words, y, 22)
    draw.arrow((middle, y), (middle, 34))


def depth(draw: Drawing) -> None:
    """With pre-norm the input stays visible in the stream; with post-norm it is lost."""
    last = 2 * GPT2Config().n_layer
    generator = np.random.default_rng(8)
    x = generator.standard_normal((VECTORS, WIDTH))
    streams = {"pre-norm": x, "post-norm": x, "no residual": x}
    left: dict[str, list[float]] = {name: [1.0] for name in streams}
    for _ in range(last):
        matrix = generator.standard_normal((WIDTH, WIDTH)) / np.sqrt(WIDTH)
        streams = {
            "pre-norm": streams["pre-norm"] + _norm(streams["pre-norm"]) @ matrix,
            "post-norm": _norm(streams["post-norm"] + streams["post-norm"] @ matrix),
            "no residual": _norm(streams["no residual"]) @ matrix,
        }
        for name, stream in streams.items():
            left[name].append(_cosine(x, stream))
    passed = Axis(0, last, range(0, last + 1, 4), "sublayers passed")
    cosine = Axis(-0.1, 1, (0, 0.25, 0.5, 0.75, 1), "cosine with the input")
    plot = draw.plot((76, 34, 330, 220), passed, cosine)
    places = {"pre-norm": (14, left["pre-norm"][14] + 0.1), "post-norm": (5.2, 0.25), "no residual": (1.3, 0.06)}
    for (name, values), kind in zip(left.items(), ("good", "bad", "muted"), strict=True):
        plot.curve(range(last + 1), values, kind, dashed=name == "no residual")
        plot.text(places[name], name, kind=kind)


def _norm(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)


def _cosine(x: np.ndarray, y: np.ndarray) -> float:
    """Return the mean over rows."""
    lengths = np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1)
    return float(((x * y).sum(axis=-1) / lengths).mean())
