"""The figures of the chapter on more than one machine, drawn from ``tools/benchmarks/figures/replicas.json``."""

from __future__ import annotations

import json
from typing import Any

from checker.course.paths import ROOT
from tools.book_maker.drawing.svg import Kind, Plot, arrow, box, figure, line, text

FIGURES = ROOT / "tools" / "benchmarks" / "figures" / "replicas.json"
COUNTS: dict[int, Kind] = {1: "bad", 2: "query", 10: "key", 100: "value", 1000: "good"}
RULES: dict[str, Kind] = {"random": "bad", "better of two": "query", "fewest requests": "good"}
CLIENTS, BALANCER, SERVER = 86, 150, 150
STEPS = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)  # milliseconds between two marks of an axis
MOST_STEPS = 6


def _parts() -> dict[str, Any]:
    parts = json.loads(FIGURES.read_text())["parts"]
    assert isinstance(parts, dict)
    return parts


def marks(highest: float) -> range:
    """Return a few round numbers of milliseconds, from 0 to one that is not below the highest."""
    step = next(step for step in STEPS if highest <= MOST_STEPS * step)
    return range(0, step * (1 + int(highest // step)) + 1, step)


def who_decides() -> str:
    """Draw clients, the balancer and two servers, with what each tells the other."""
    parts, middle = [], 96.0
    for at in range(3):
        parts.append(box(4, 24 + at * 56, CLIENTS, 32, "client", size="small"))
        parts.append(arrow(4 + CLIENTS, 40 + at * 56, 168, middle, kind="muted"))
    parts.append(
        box(170, middle - 40, BALANCER, 80, "balancer\ncounts requests,\nknows sessions", size="small", kind="query")
    )
    for at, (state, kind) in enumerate((("takes requests", "good"), ("finishes what it has", "masked"))):
        y = 16 + at * 96
        parts.append(box(470, y, SERVER, 64, f"server {at + 1}\n{state}", size="small", kind=kind))  # type: ignore[arg-type]
        parts.append(arrow(170 + BALANCER, middle - 12 + at * 24, 468, y + 32, kind="plain" if at == 0 else "muted"))
        parts.append(text(396, 40 + at * 112, ("/ready: 200", "/ready: 503")[at], size="small", mono=True))
    title = (
        "Clients know one address; the balancer asks each server whether it is ready, and chooses one for each request"
    )
    return figure(624, 196, *parts, title=title)


def latency() -> str:
    """Draw the slowest hundredth of requests against load: by the number of replicas, and by the balancer's rule."""
    part = _parts()["simulated"]
    times = [1000 * row["p99"] for row in part["rows"]]
    loads = sorted({row["load"] for row in part["rows"]})
    y_ticks = marks(sorted(times)[-3])
    drawn = []
    for x, title, kinds in ((52.0, "p99, ms", COUNTS), (372.0, "1000 replicas, p99, ms", RULES)):
        plot = Plot(x, 46, 236, 200, (0, 1), (0, y_ticks[-1]))
        ticks = [(0, "0"), (0.5, "half"), (1, "full")]
        drawn += [plot.axes(x_ticks=ticks, y_ticks=y_ticks, x_label="load")]
        drawn += [text(x, 26, title, anchor="start", size="small", bold=True)]
        for at, (name, kind) in enumerate(kinds.items()):
            key, other = ("replicas", ("rule", "fewest requests")) if kinds is COUNTS else ("rule", ("replicas", 1000))
            rows = [row for row in part["rows"] if row[key] == name and row[other[0]] == other[1]]
            points = [(row["load"], 1000 * row["p99"]) for row in rows if 1000 * row["p99"] <= y_ticks[-1]]
            drawn += [plot.curve(*zip(*points, strict=True), kind=kind)]
            y = 64 + 20 * at
            drawn += [line(x + 12, y, x + 34, y, kind=kind)]
            drawn += [text(x + 40, y, str(name), anchor="start", size="small")]
    assert loads[-1] < 1
    title = "The more replicas share the requests, the longer the slowest answers stay short; chance wastes that"
    return figure(624, 292, *drawn, title=title)


def two() -> str:
    """Draw measured and simulated latencies of two servers behind HAProxy, against load."""
    rows = _parts()["two"]["rows"]
    times = [
        1000 * row[f"{who} {what}"] for row in rows for who in ("measured", "simulated") for what in ("median", "p95")
    ]
    y_ticks = marks(max(times))
    plot = Plot(52, 46, 330, 200, (0, 1), (0, y_ticks[-1]))
    drawn = [plot.axes(x_ticks=[(0, "0"), (0.5, "half"), (1, "full")], y_ticks=y_ticks, x_label="load")]
    drawn += [text(52, 26, "ms", anchor="start", size="small", bold=True)]
    loads = [row["load"] for row in rows]
    kinds: dict[str, Kind] = {"median": "query", "p95": "key"}
    for at, (what, kind) in enumerate(kinds.items()):
        drawn += [plot.curve(loads, [1000 * row[f"simulated {what}"] for row in rows], kind=kind)]
        drawn += [plot.dots(loads, [1000 * row[f"measured {what}"] for row in rows], kind=kind)]
        drawn += [line(64, 64 + 20 * at, 86, 64 + 20 * at, kind=kind)]
        drawn += [text(92, 64 + 20 * at, f"{what}, simulated; dots: measured", anchor="start", size="small")]
    title = "The latency of two servers behind HAProxy, as it was measured and as the simulation says"
    return figure(400, 292, *drawn, title=title)
