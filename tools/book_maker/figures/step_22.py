"""Figures of step 22: a row in blocks and their bytes, the steps of a block, and what is read for a token."""

from __future__ import annotations

import numpy as np

from solutions.solution_01 import GPT2Config
from solutions.solution_22 import BLOCK, BYTES, scales_of, steps_of
from tools.book_maker.drawing import svg
from tools.book_maker.values.arithmetic import matrix_weights, parameters

WEIGHTS = (0.9, -0.31, 0.05, 2.2, 1.1, 0.0, 0.62, -0.77)  # the block of the chapter


def blocks() -> str:
    """Draw a row in three blocks, and the bytes of one block in both formats."""
    left, wide, high = 70.0, 486.0, 34.0
    block, middle = wide / 3, left + wide / 2
    parts = [svg.text(left - 10, 41, "a row", anchor="end", size="small")]
    for at in range(3):
        words = f"{BLOCK} weights"
        parts.append(svg.box(left + at * block + 2, 24, block - 4, high, words, kind="accent" if at == 1 else "plain"))
    for level, format in ((112.0, "Q8_0"), (216.0, "Q4_0")):
        half = format == "Q4_0"
        scale, steps = 62.0, (wide - 62.0) * (0.5 if half else 1)
        parts += [
            svg.text(left - 10, level + high / 2, format, anchor="end", size="small", mono=True),
            svg.box(left, level, scale, high, "scale", kind="key"),
            svg.text(left + scale / 2, level + high + 14, "2 bytes", size="small"),
            svg.text(left + scale + steps / 2, level + high + 14, f"{BYTES[format] - 2} bytes", size="small"),
        ]
        if half:
            parts += [
                svg.box(
                    left + scale, level, steps, high / 2, "steps 16 to 31, high", kind="query", size="small", round=0
                ),
                svg.box(
                    left + scale,
                    level + high / 2,
                    steps,
                    high / 2,
                    "steps 0 to 15, low",
                    kind="value",
                    size="small",
                    round=0,
                ),
            ]
        else:
            parts.append(svg.box(left + scale, level, steps, high, "steps 0 to 31", kind="query"))
    for x, to in ((left + block + 2, left), (left + 2 * block - 2, left + wide)):
        parts.append(svg.line(x, 24 + high, to, 110, kind="muted", dashed=True))
    parts.append(svg.text(middle, 184, "or, with two steps in each byte:", size="small"))
    title = "A row is cut into blocks of 32 weights; a block is kept as a scale and 32 steps, of a byte or half a byte"
    return svg.figure(left + wide + 14, 278, *parts, title=title)


def steps() -> str:
    """Draw eight weights, the steps of Q4_0, and where each weight moves."""
    weights = np.array(WEIGHTS, np.float32)[None, None]
    scales = scales_of(weights, "Q4_0")
    moved = steps_of(weights, scales, "Q4_0")[0, 0] * scales[0, 0, 0]
    scale, left, wide, top, bottom = float(scales[0, 0, 0]), 40.0, 560.0, 58.0, 140.0

    def place(number: float) -> float:
        return left + (number - 7 * scale) / (-8 * scale - 7 * scale) * wide

    parts = [
        svg.text(left, 12, "weights", anchor="start", size="small"),
        svg.line(left - 14, top, left + wide + 14, top),
        svg.line(left - 14, bottom, left + wide + 14, bottom),
        svg.text(left, bottom + 44, "steps of Q4_0", anchor="start", size="small"),
    ]
    for step in range(-8, 8):
        x = place(step * scale)
        parts.append(svg.line(x, bottom - 5, x, bottom + 5))
        parts.append(svg.text(x, bottom + 20, svg.number(step, ".0f"), size="small", mono=True))
    for weight, nearest in zip(WEIGHTS, moved, strict=True):
        parts.append(svg.arrow(place(weight), top + 6, place(float(nearest)), bottom - 7, kind="accent"))
        parts.append(svg.circle(place(weight), top, 5, kind="query"))
    for number in (-2, -1, 0, 1, 2):
        parts.append(svg.text(place(number), top - 16, svg.number(number, ".0f"), size="small", mono=True))
    title = (
        "Eight weights move to the nearest of sixteen steps; the largest, 2.2, is step -8, since the scale is negative"
    )
    return svg.figure(640, bottom + 58, *parts, title=title.replace("-", svg.MINUS))


def bytes() -> str:
    """Draw the megabytes that GPT-2 small reads for a token, in three formats."""
    config = GPT2Config()
    small, total = matrix_weights(config), parameters(config)["total"]
    rest = total - small
    read = {"F32": total * 4} | {kept: small * size / BLOCK + rest * 4 for kept, size in BYTES.items()}
    values = [(kept, size / 1e6) for kept, size in read.items()]
    return svg.figure(
        425,
        124,
        svg.text(212, 14, "megabytes of weights", size="small"),
        svg.bars(10, 32, 405, values, spec=".0f", labels=56),
        title="Megabytes of weights of GPT-2 small in float32, in 8 bits, and in 4 bits",
    )
