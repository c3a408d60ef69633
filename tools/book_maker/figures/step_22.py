"""Figures of step 22: a row in blocks and their bytes, the quants of a block, and what is read for a token."""

import numpy as np

from solutions.solution_01 import GPT2Config
from solutions.solution_22 import BLOCK_SIZE, Q4_0, Q8_0
from tools.book_maker.drawing.svg import MINUS, Drawing, number
from tools.book_maker.values.arithmetic import parameters, quantized_bytes

WEIGHTS = (0.9, -0.31, 0.05, 2.2, -2.15, 0.0, 0.62, -0.77)  # the block of the chapter


def blocks(draw: Drawing) -> None:
    """A row is cut into blocks of 32 weights; a block is kept as a scale and 32 quants, of a byte or half a byte."""
    wide, block, scale = 486, 162, 62
    draw.text(-10, 41, "a row", "end")
    for at in range(3):
        draw.box(at * block + 2, 24, block - 4, 34, f"{BLOCK_SIZE} weights", "accent" if at == 1 else "plain")
    halves = (("quants 16 to 31, high", "query"), ("quants 0 to 15, low", "value"))
    for y, format, dtype, room in ((112, "Q8_0", Q8_0, wide - scale), (216, "Q4_0", Q4_0, (wide - scale) / 2)):
        draw.text(-10, y + 17, format, "end", mono=True)
        draw.box(0, y, scale, 34, "scale", "key")
        draw.text(scale / 2, y + 48, "2 bytes")
        draw.text(scale + room / 2, y + 48, f"{dtype.itemsize - 2} bytes")
        if format == "Q8_0":
            draw.box(scale, y, room, 34, "quants 0 to 31", "query")
            continue
        for at, (words, kind) in enumerate(halves):
            draw.box(scale, y + 17 * at, room, 17, words, kind, size="small", round=0)
    draw.line((block + 2, 58), (0, 110), kind="muted", dashed=True)
    draw.line((2 * block - 2, 58), (wide, 110), kind="muted", dashed=True)
    draw.text(wide / 2, 184, "or, with two quants in each byte:")


def quants(draw: Drawing) -> None:
    """Draw eight weights, the quants of Q4_0, and where each weight moves."""
    draw.title = (
        "Eight weights move to the nearest of sixteen quants; "
        f"the largest, 2.2, is quant {MINUS}8, since the scale is negative, and {MINUS}2.15 is clipped to 7"
    )
    scale, wide, top, bottom = max(WEIGHTS, key=abs) / -8, 560, 58, 140
    moved = np.rint(np.array(WEIGHTS) / scale).clip(-8, 7) * scale

    def place(value: float) -> float:
        return (value - 7 * scale) / (-8 * scale - 7 * scale) * wide

    for y, words, aside in ((top, "weights", -46), (bottom, "quants of Q4_0", 44)):
        draw.text(0, y + aside, words, "start")
        draw.line((-44, y), (wide + 14, y))
    for quant in range(-8, 8):
        x = place(quant * scale)
        draw.line((x, bottom - 5), (x, bottom + 5))
        draw.text(x, bottom + 20, number(quant, ".0f"), mono=True)
    for weight, nearest in zip(WEIGHTS, moved, strict=True):
        draw.arrow((place(weight), top + 6), (place(float(nearest)), bottom - 7), kind="accent")
        draw.circle(place(weight), top, 5, kind="query")
    for value in (-2, -1, 0, 1, 2):
        draw.text(place(value), top - 16, number(value, ".0f"), mono=True)


def bytes(draw: Drawing) -> None:
    """Megabytes of weights of GPT-2 small in float32, in 8 bits, and in 4 bits."""
    config = GPT2Config()
    read = {"F32": parameters(config)["total"] * 4}
    read |= {format: quantized_bytes(config, dtype.itemsize) for format, dtype in (("Q8_0", Q8_0), ("Q4_0", Q4_0))}
    draw.text(212, 14, "megabytes of weights")
    draw.bars(10, 32, 405, [(format, size / 1e6) for format, size in read.items()], spec=".0f", labels=56)
