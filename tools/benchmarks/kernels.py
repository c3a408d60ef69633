"""Time the kernels beside MAX's operations and PyTorch's, and measure the roofline that they stand under.

Outputs are compared before anything is timed. What a tool measured that is gone, the ladder and the forward passes,
stands under ``recorded``.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np

from checker.course.steps import ROOT
from checker.mojo.library import shared_library
from tools.benchmarks import harness, workloads
from tools.benchmarks.comparison import Comparison, Way
from tools.benchmarks.harness import Column, Result, Row, median, ratio, table
from tools.benchmarks.limits import READING
from tools.benchmarks.preparing import COURSE, HUGGING_FACE
from tools.benchmarks.workers import Workload

OURS, MAX, THEIRS = "MAX with kernels", "MAX", "Hugging Face"  # as the figures call them
WITH_KERNELS, BY_MAX = Way(OURS, COURSE, how=workloads.KERNELS), Way(MAX, COURSE)
BY_TORCH = Way(THEIRS, HUGGING_FACE)
PRODUCTS = {  # by the type of what is multiplied
    "float32": (BY_MAX, BY_TORCH),
    workloads.BFLOAT16: (
        Way(f"{OURS}, bfloat16", COURSE, workloads.BFLOAT16, workloads.KERNELS, tolerance=0.01),
        Way(f"{THEIRS}, bfloat16", HUGGING_FACE, workloads.BFLOAT16, tolerance=0.01),
    ),
}
SOURCE = Path(__file__).with_name("reading.mojo")
READS = 16  # of a turn, of which the fastest counts: each takes milliseconds


class Plan(NamedTuple):
    """What is run, and for how long."""

    batches: tuple[int, ...] = (1, 8)
    lengths: tuple[int, ...] = (1, 8, 64, 128, 512, 1024)
    rows: tuple[int, ...] = (1, 2, 4, 8)
    numbers: int = 1 << 27  # half a gigabyte, which no cache holds, to be read
    turn: float = 0.15  # seconds for which calls are repeated, far above the clock's own uncertainty


QUICK = Plan((2,), (5,), (2,), 1 << 20, 0.01)

# ---------------------------------------------------------------- parts


def bounds(numbers: int, compare: Comparison) -> dict[str, dict[str, list[float]]]:
    """Measure what the machine can do: a large product in each type, and reading ``numbers`` by threads of Mojo.

    Returns:
        By type, and for reading: of each that was tried, 10**9 operations or bytes a second in each round.
    """
    rates: dict[str, dict[str, list[float]]] = {}
    for dtype, ways in PRODUCTS.items():
        timed, operations = compare.run(Workload(workloads.PRODUCT), ways), 2 * workloads.ROWS**3
        rates[dtype] = {f"{way}, GFLOP/s": [operations / time / 1e9 for time in times] for way, times in timed.items()}
    read = ctypes.CDLL(str(shared_library({SOURCE.name: SOURCE.read_text()}, SOURCE.name, "a reader"))).read
    array = np.ones(numbers, np.float32)

    def reading(threads: int) -> float:
        sums = np.zeros(threads, np.float32)
        seconds = []
        for _ in range(READS):
            start = time.perf_counter()
            read(*map(ctypes.c_int64, (array.ctypes.data, numbers, threads, sums.ctypes.data)))
            seconds.append(time.perf_counter() - start)
        return array.nbytes / min(seconds) / 1e9

    threads = harness.take_turns({1: None, harness.cores(): None}, compare.rounds, reading)
    rates[READING] = {f"{count} thread{'s' * (count > 1)} of Mojo, GB/s": some for count, some in threads.items()}
    return rates


def ground(plan: Plan, compare: Comparison) -> list[Row]:
    """Measure what the machine can do."""
    rates = [each for some in bounds(plan.numbers, compare).values() for each in some.items()]
    return [{"what": name, "figure": median(some, 1)} for name, some in rates]


def core(plan: Plan, compare: Comparison) -> list[Row]:
    """Time attention's core: all heads, without the projections."""
    rows = []
    for work in (Workload(workloads.CORE, batch, length) for batch in plan.batches for length in plan.lengths):
        timed = compare.run(work, (WITH_KERNELS, BY_TORCH))
        row: Row = {"batch": work.batch, "length": work.length, "ratio": ratio(timed[THEIRS], timed[OURS])}
        for way, times in timed.items():
            each = [time / workloads.repeats(work.length) for time in times]
            operations = workloads.core_flops(work.batch, work.length)
            row[f"{way}, ms"] = median((1000 * time for time in each), 4)
            row[f"{way}, GFLOP/s"] = median((operations / time / 1e9 for time in each), 1)
        rows.append(row)
    return rows


def linear(plan: Plan, compare: Comparison) -> list[Row]:
    """Time the linear layers of GPT-2 small, all of them, for few rows, by how fast they read their weights."""
    rows = []
    for count in plan.rows:
        times = compare.run(Workload(workloads.LINEAR, 1, count), (WITH_KERNELS, BY_MAX, BY_TORCH))
        rates = {
            f"{way}, GB/s": median((workloads.WEIGHT_BYTES / time / 1e9 for time in some), 1)
            for way, some in times.items()
        }
        ratios = {"MAX / kernels": ratio(times[MAX], times[OURS]), "torch / kernels": ratio(times[THEIRS], times[OURS])}
        rows.append({"rows": count} | rates | ratios)
    return rows


PARTS: dict[str, Callable[[Plan, Comparison], list[Row]]] = {part.__name__: part for part in (ground, core, linear)}

# ---------------------------------------------------------------- tables

COLUMNS = {
    "ground": [Column("a large product, and reading a large matrix", "what"), Column("reached", "figure", ".0f")],
    "core": [
        Column("batch", "batch"),
        Column("tokens", "length"),
        Column("kernel, ms", f"{OURS}, ms", ".4f"),
        Column("sdpa, ms", f"{THEIRS}, ms", ".4f"),
        Column("sdpa / kernel", "ratio", ".2f"),
        Column("kernel, GFLOP/s", f"{OURS}, GFLOP/s", ".0f"),
        Column("sdpa, GFLOP/s", f"{THEIRS}, GFLOP/s", ".0f"),
    ],
    "linear": [
        Column("rows", "rows"),
        Column("kernel, GB/s", f"{OURS}, GB/s", ".1f"),
        Column("MAX, GB/s", f"{MAX}, GB/s", ".1f"),
        Column("torch, GB/s", f"{THEIRS}, GB/s", ".1f"),
        Column("MAX / kernel", "MAX / kernels", ".2f"),
        Column("torch / kernel", "torch / kernels", ".2f"),
    ],
}


def tables(result: Result, part: str) -> list[str]:
    """Return the table of one part, if it was measured."""
    return [table(COLUMNS[part], result["parts"][part])] if part in result["parts"] else []


def as_markdown(results: Result) -> str:
    """Return the tables of all parts."""
    return "\n\n".join(filter(None, (harness.by_processor(results, tables, part) for part in PARTS)))


def run(only: Sequence[str], quick: bool, rounds: int, out: Path | None) -> None:
    """Compare, time, print the tables of this processor, and put its figures beside those of others.

    Raises:
        UserError: one of them could not run something, or the kernels compute something else than PyTorch.
    """
    plan, result = QUICK if quick else Plan(), harness.conditions(rounds)
    with closing(Comparison(ROOT, BY_TORCH, rounds, plan.turn)) as compare:
        parts = {part: PARTS[part](plan, compare) for part in only}
        result |= {"versions": compare.versions, "failed": compare.failed, "parts": parts}
    harness.finish_on_this_processor(as_markdown, result, out)
