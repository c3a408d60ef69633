"""Figures of step 21: tiles and the diagonal, a register tile, a roofline."""

from tools.book_maker.drawing.svg import Axis, Drawing
from tools.book_maker.values.book_values import kernels
from tools.book_maker.values.speed import NAME

QUERIES, KEYS, LENGTH = 2, 4, 12  # of the figure; a kernel has larger ones


def tiles(draw: Drawing) -> None:
    """The scores of a sequence in tiles; those above the diagonal are never computed."""
    cell = 26
    wide = LENGTH * cell
    for first in range(0, LENGTH, QUERIES):
        for block in range(0, LENGTH, KEYS):
            past, future = block + KEYS <= first + 1, block >= first + QUERIES
            kind = "key" if past else "masked" if future else "accent"
            draw.box(block * cell, first * cell, KEYS * cell, QUERIES * cell, kind=kind, round=2, dashed=future)
    for token in range(LENGTH):
        draw.circle((token + 0.5) * cell, (token + 0.5) * cell, 3, kind="query")
    draw.text(wide / 2, -34, "keys and values", size="normal")
    draw.text(KEYS * cell / 2, -12, "a block of keys")
    draw.text(-12, wide / 2, "queries", "end", size="normal")
    draw.text(-12, QUERIES * cell / 2, "one task", "end")
    notes = (
        ("all keys are of the past", "key"),
        ("on the diagonal: a row\nsees the keys up to its own", "accent"),
        ("the future: never read", "masked"),
    )
    draw.legend(wide + 18, 41, notes, down=74)


def registers(draw: Drawing) -> None:
    """A register tile: each loaded number of a key and each loaded vector of queries is used several times."""
    rows, columns, wide, high = 4, 3, 104, 44
    draw.text(columns * wide / 2, -60, "one channel of a block of queries, side by side")
    for column in range(columns):
        draw.box(column * wide + 3, -44, wide - 6, 30, f"queries {column}", "query", mono=True)
    for row in range(rows):
        draw.box(-84, row * high + 4, 74, high - 8, f"key {row}", "key", mono=True)
        for column in range(columns):
            draw.box(column * wide + 3, row * high + 4, wide - 6, high - 8, "sums", "accent", mono=True)
    note = f"{rows} + {columns} numbers or vectors are loaded for {rows * columns} multiply-adds"
    draw.text((columns * wide - 90) / 2, rows * high + 18, note)


def roofline(draw: Drawing) -> None:
    """What bounds a program: a linear layer and attention, below both limits."""
    measured = kernels[NAME]["recorded"]["roofline"]
    product, reading = measured["product"], measured["reading"]
    left, right = 0.25, 512.0
    label = "operations for each byte that must be read or written"
    operations = Axis(left, right, [4.0**power for power in range(-1, 5)], label, log=True)
    speed = Axis(4, 2048, [4.0**power for power in range(1, 6)], "GFLOP/s", log=True)
    plot = draw.plot((66, 52, 540, 270), operations, speed)
    plot.curve([left, product / reading, right], [left * reading, product, product], "query")
    draw.text(336, 20, NAME)
    for x, y, words, kind in measured["points"]:
        plot.dots([x], [y], kind, radius=5)
        plot.text((x, y), words, right=10, down=12)
    plot.text((right, product), f"the fastest matmul, {product:.0f} GFLOP/s", "end", down=-12)
    plot.text((left, left * reading), f"reading,\n{reading:.0f} GB/s", right=10, down=-66)
