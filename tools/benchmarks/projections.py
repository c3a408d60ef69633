"""Time query, key and value by one fused multiplication against three, in NumPy.

``python -m tools.benchmarks.projections [--rounds 21] [--out FILE]``

At GPT-2 small's width in float32, for one sequence of several lengths. The two alternate, and which
goes first does too, so that a machine that slows down slows both. A figure is the median over the
rounds of the time of one call; the ratio is the median of the rounds' own ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from solutions.warmup_02 import project
from solutions.warmup_05 import fuse, project_fused

WIDTH = 768
LENGTHS = (1, 8, 64, 256, 1024)
SECONDS_A_ROUND = 0.02  # calls are repeated for this long, far above the clock's own uncertainty


def seconds_a_call(call: Callable[[], object], calls: int) -> float:
    """The mean time of one of several calls in a row."""
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def calls_that_last(seconds: float, call: Callable[[], object]) -> int:
    """How many calls take about so long; run first, so that nothing is cold later."""
    seconds_a_call(call, 3)
    return max(1, round(seconds / seconds_a_call(call, 3)))


def compare(length: int, rounds: int) -> dict[str, float]:
    """Median milliseconds of both ways for one length, and how many times longer three take than one."""
    generator = np.random.default_rng(length)
    x = generator.standard_normal((1, length, WIDTH), dtype=np.float32)
    separate = [generator.standard_normal((WIDTH, WIDTH), dtype=np.float32) for _ in range(3)]
    fused = fuse(*separate)
    ways: list[Callable[[], Any]] = [lambda: project(x, *separate), lambda: project_fused(x, fused)]
    for one, other in zip(*(way() for way in ways), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-3)  # the same numbers, or there is nothing to compare
    calls = [calls_that_last(SECONDS_A_ROUND, way) for way in ways]
    times: list[list[float]] = [[], []]
    for turn in range(rounds):
        for at in (0, 1) if turn % 2 == 0 else (1, 0):
            times[at].append(seconds_a_call(ways[at], calls[at]))
    three, one = (1000 * statistics.median(some) for some in times)
    ratio = statistics.median(a / b for a, b in zip(*times, strict=True))
    return {"three, ms": round(three, 4), "fused, ms": round(one, 4), "three / fused": round(ratio, 2)}


def as_markdown(result: dict[str, Any]) -> str:
    """The figures as a table."""
    rows = ["| tokens | three projections, ms | fused, ms | three / fused |", "|---|---|---|---|"]
    for length, case in result["tokens"].items():
        rows.append(f"| {length} | {case['three, ms']:.3f} | {case['fused, ms']:.3f} | {case['three / fused']:.2f} |")
    return "\n".join(rows)


def main() -> None:
    """Time every length and print a table."""
    parser = argparse.ArgumentParser(prog="bench-projections", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    result = {
        "machine": f"{platform.machine()}, {psutil.cpu_count()} threads, Python {platform.python_version()}, "
        f"NumPy {np.__version__}",
        "load": round(load, 2),
        "rounds": options.rounds,
        "width": WIDTH,
        "tokens": {str(length): compare(length, options.rounds) for length in LENGTHS},
    }
    print(as_markdown(result))
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
