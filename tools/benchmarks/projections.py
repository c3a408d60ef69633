"""Time query, key and value by one fused multiplication against three, in NumPy.

The width is GPT-2 small's, in float32, for one sequence of several lengths.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from solutions.warmup_02 import project
from solutions.warmup_05 import fuse, project_fused
from tools.benchmarks.harness import (
    Column,
    Result,
    conditions,
    finish,
    milliseconds,
    ratio,
    seconds_per_call,
    table,
    take_turns,
)

WIDTH = 768
LENGTHS = (1, 8, 64, 256, 1024)
SECONDS_PER_TURN = 0.02  # calls are repeated for this long, far above the clock's own uncertainty
COLUMNS = (
    Column("tokens", "length"),
    Column("three projections, ms", "three, ms", ".3f"),
    Column("fused, ms", "fused, ms", ".3f"),
    Column("three / fused", "three / fused", ".2f"),
)


def compare(length: int, rounds: int) -> dict[str, float]:
    """Return median milliseconds of both ways for one length, and how many times longer three take than one."""
    generator = np.random.default_rng(length)
    x = generator.standard_normal((1, length, WIDTH), dtype=np.float32)
    separate = [generator.standard_normal((WIDTH, WIDTH), dtype=np.float32) for _ in range(3)]
    joined = fuse(*separate)
    ways: dict[str, Callable[[], Any]] = {
        "three": lambda: project(x, *separate),
        "fused": lambda: project_fused(x, joined),
    }
    for one, other in zip(*(call() for call in ways.values()), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-3)  # the same numbers, or there is nothing to compare
    calls = {way: max(1, round(SECONDS_PER_TURN / seconds_per_call(call, 3))) for way, call in ways.items()}
    times = take_turns(ways, rounds, lambda way: seconds_per_call(ways[way], calls[way]))
    figures = {f"{way}, ms": milliseconds(some, 4) for way, some in times.items()}
    return figures | {"three / fused": ratio(times["three"], times["fused"])}


def as_markdown(result: Result) -> str:
    """Return the figures as a table."""
    return table(COLUMNS, [{"length": length} | figures for length, figures in result["tokens"].items()])


def run(rounds: int, out: Path | None) -> None:
    """Time every length and print a table."""
    result = conditions(rounds) | {"width": WIDTH}
    result["machine"] += f", NumPy {np.__version__}"
    result["tokens"] = {str(length): compare(length, rounds) for length in LENGTHS}
    finish(as_markdown(result), result, out)
