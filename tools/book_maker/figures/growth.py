"""What attention costs, as the sequence and the batch grow: drawn from ``tools/benchmarks/figures/speed.json``."""

import math
from collections.abc import Sequence
from typing import Any

from tools.book_maker.drawing.svg import Axis, Drawing
from tools.book_maker.values.book_values import speed

WAYS = {"MAX": ("MAX", "query"), "Hugging Face": ("Hugging Face, sdpa", "key")}


def cost(draw: Drawing) -> None:
    """The time of attention by the length of the sequence, and by the batch."""
    rows = speed["growth"]
    by_length = [row for row in rows if row["batch"] == 1]
    length = next(row["length"] for row in rows if row["batch"] != 1)
    by_batch = [row for row in rows if row["length"] == length]
    times = [row[f"{way}, ms"] for row in rows for way in WAYS]
    lowest, highest = (math.floor(math.log10(time)) for time in (min(times), max(times)))
    powers = range(lowest, highest + 2)
    axis = Axis(10.0 ** powers[0], 10.0 ** powers[-1], [10.0**power for power in powers], "ms", log=True)
    draw.legend(60, 12, [*WAYS.values(), ("twice as much, twice as long", "muted")], lines=True)
    _panel(draw, 60, by_length, "length", "tokens, batch 1", axis)
    _panel(draw, 370, by_batch, "batch", f"sequences of {length} tokens", axis)


def _panel(draw: Drawing, x: float, rows: Sequence[dict[str, Any]], name: str, label: str, ms: Axis) -> None:
    """Draw one pair of axes with a curve for each backend, and from the middle of MAX's a line of slope one."""
    sizes = [row[name] for row in rows]
    every_other = {sizes[0], sizes[-1], *(size for size in sizes if size.bit_length() % 2)}  # they are powers of two
    ticks = sizes if len(sizes) < 8 else sorted(every_other)
    plot = draw.plot((x, 50, 240, 200), Axis(min(sizes), max(sizes), ticks, label, log=True), ms)
    middle = rows[len(rows) // 2]
    slope = middle["MAX, ms"] / middle[name]
    inside = [size for size in sizes if ms.low <= slope * size <= ms.high]
    plot.curve(inside, [slope * size for size in inside], "muted", dashed=True)
    for way, (_, kind) in WAYS.items():
        plot.curve(sizes, [row[f"{way}, ms"] for row in rows], kind, radius=3)
