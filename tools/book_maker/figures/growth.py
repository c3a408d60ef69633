"""What attention costs, as the sequence and the batch grow: drawn from ``tools/benchmarks/figures/speed.json``."""

import json
from collections.abc import Sequence
from typing import Any

from checker.course.paths import ROOT
from tools.book_maker.drawing.svg import Kind, Plot, figure, line, text

FIGURES = ROOT / "tools" / "benchmarks" / "figures" / "speed.json"
WAYS: dict[str, tuple[str, Kind]] = {"MAX": ("MAX", "query"), "Hugging Face": ("Hugging Face, sdpa", "key")}


def cost(result: dict[str, Any] | None = None) -> str:
    """Draw milliseconds of attention at GPT-2 small's width, by length and by batch; both axes are logarithmic.

    Args:
        result: what ``./run bench --out`` wrote, if not ``tools/benchmarks/figures/speed.json``.

    Raises ``ValueError`` where the benchmark was run without its part ``growth``.
    """
    if result is None:
        result = json.loads(FIGURES.read_text())
    assert result is not None
    if "growth" not in result:
        raise ValueError(
            "tools/benchmarks/figures/speed.json has no part `growth`; "
            "`./run bench --out tools/benchmarks/figures/speed.json` adds it"
        )
    rows = result["growth"]
    by_length = [row for row in rows if row["batch"] == 1]
    length = next(row["length"] for row in rows if row["batch"] != 1)
    by_batch = [row for row in rows if row["length"] == length]
    times = [row[f"{way}, ms"] for row in rows for way in WAYS]
    y_range = (10.0 ** _exponent(min(times)), 10.0 ** (_exponent(max(times)) + 1))
    drawn = []
    for at, (words, kind) in enumerate(WAYS.values()):
        x = 60 + 120 * at
        drawn += [line(x, 12, x + 24, 12, kind=kind), text(x + 30, 12, words, anchor="start", size="small")]
    drawn += [line(350, 12, 374, 12, kind="muted", dashed=True)]
    drawn += [text(380, 12, "twice as much, twice as long", anchor="start", size="small")]
    drawn += _panel(60, by_length, "length", "tokens, batch 1", y_range)
    drawn += _panel(370, by_batch, "batch", f"sequences of {length} tokens", y_range)
    return figure(640, 300, *drawn, title="The time of attention by the length of the sequence, and by the batch")


def _panel(x: float, rows: Sequence[dict[str, Any]], name: str, label: str, y_range: tuple[float, float]) -> list[str]:
    """Draw one pair of axes with a curve for each backend, and from the middle of MAX's a line of slope one."""
    sizes = [row[name] for row in rows]
    plot = Plot(x, 50, 240, 200, (min(sizes), max(sizes)), y_range, log_x=True, log_y=True)
    ticks = [size for size in sizes if len(sizes) < 8 or size in (sizes[0], sizes[-1]) or not _odd_power(size)]
    heights = [10.0**power for power in range(_exponent(y_range[0]), _exponent(y_range[1]) + 1)]
    drawn = [plot.axes(x_ticks=ticks, y_ticks=heights, x_label=label, y_label="ms")]
    middle = rows[len(rows) // 2]
    slope = middle["MAX, ms"] / middle[name]
    inside = [size for size in sizes if y_range[0] <= slope * size <= y_range[1]]
    drawn.append(plot.curve(inside, [slope * size for size in inside], kind="muted", dashed=True))
    for way, (_, kind) in WAYS.items():
        drawn += [plot.curve(sizes, [row[f"{way}, ms"] for row in rows], kind=kind)]
        drawn += [plot.dots(sizes, [row[f"{way}, ms"] for row in rows], kind=kind, radius=3)]
    return drawn


def _exponent(value: float) -> int:
    """Return the power of ten at or below a number."""
    return int(f"{value:e}".split("e")[1])


def _odd_power(size: int) -> bool:
    """Return whether a power of two has an odd exponent; every other one is named on the axis."""
    return size.bit_length() % 2 == 0
