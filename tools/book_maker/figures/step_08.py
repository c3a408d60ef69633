"""Figures of step 08: where the normalization stands, and how much of the input is left after many sublayers."""

from __future__ import annotations

import numpy as np

from solutions.solution_01 import GPT2Config
from tools.book_maker.drawing import svg

WIDTH = 256  # channels of the random sublayers
VECTORS = 64  # over which a figure is averaged


def pre_and_post() -> str:
    """Draw pre-norm, as in GPT-2, and post-norm, as in the original transformer, side by side."""

    def block(middle: float, title: str, inside: list[str], above: list[str], kind: svg.Kind) -> str:
        """Draw a path straight up beside a sublayer, with parts ``inside`` the bypass and ``above`` the sum."""
        y = 232.0
        fork = y - 14
        parts = [svg.text(middle, 14, title, bold=True), svg.text(middle, y + 12, "x", mono=True, bold=True)]
        for words in inside:
            parts += [
                svg.arrow(middle, y, middle, y - 28),
                svg.box(middle - 55, y - 60, 110, 32, words, mono=True, kind="key" if words == "sublayer" else "plain"),
            ]
            y -= 60
        join = y - 26
        parts += [
            svg.arrow(middle, y, middle, join + 10),
            svg.circle(middle, join, 10, "+"),
            svg.polyline(
                [(middle, fork), (middle - 84, fork), (middle - 84, join), (middle - 10, join)], head=True, kind=kind
            ),
        ]
        y = join - 10
        for words in above:
            parts += [svg.arrow(middle, y, middle, y - 22), svg.box(middle - 55, y - 54, 110, 32, words, mono=True)]
            y -= 54
        return "\n".join([*parts, svg.arrow(middle, y, middle, 34, kind="plain")])

    return svg.figure(
        440,
        256,
        block(110, "pre-norm: GPT-2", ["norm", "sublayer"], [], "good"),
        block(330, "post-norm", ["sublayer"], ["norm"], "bad"),
        title="With pre-norm one path from x to the output has only sums; with post-norm all pass the norm",
    )


def depth() -> str:
    """Draw the cosine between the input and the stream, over random sublayers: pre-norm, post-norm, no residual."""
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
    plot = svg.Plot(76, 34, 330, 220, (0, last), (-0.1, 1))
    kinds: dict[str, svg.Kind] = {"pre-norm": "good", "post-norm": "bad", "no residual": "muted"}
    labels = {"pre-norm": (14, left["pre-norm"][14] + 0.1), "post-norm": (5.2, 0.25), "no residual": (1.3, 0.06)}
    parts = [
        plot.axes(
            x_ticks=range(0, last + 1, 4),
            y_ticks=(0, 0.25, 0.5, 0.75, 1),
            x_label="sublayers passed",
            y_label="cosine with the input",
        )
    ]
    for name, values in left.items():
        parts.append(plot.curve(range(last + 1), values, kind=kinds[name], dashed=name == "no residual"))
        at = plot.at(*labels[name])
        parts.append(svg.text(*at, name, anchor="start", size="small", kind=kinds[name]))
    return svg.figure(
        424, 306, *parts, title="With pre-norm the input stays visible in the stream; with post-norm it is lost"
    )


def _norm(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)


def _cosine(x: np.ndarray, y: np.ndarray) -> float:
    """Return the mean over rows."""
    lengths = np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1)
    return float(((x * y).sum(axis=-1) / lengths).mean())
