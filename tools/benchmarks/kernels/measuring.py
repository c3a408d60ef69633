"""Time the kernels beside MAX's operations and PyTorch's, and measure the roofline that they stand under.

Outputs are compared before anything is timed. The figures of every processor stay apart, and a part that is measured
again replaces its own alone. What a tool measured that is gone, the ladder and the forward passes, stands under
``recorded``.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from checker.mojo.building import shared_library
from checker.processor import instruction_sets
from tools.benchmarks import harness
from tools.benchmarks.comparison import COURSE, Comparison, Way, python
from tools.benchmarks.harness import (
    Column,
    Result,
    Row,
    conditions,
    cores,
    finish_on_this_processor,
    load,
    milliseconds,
    ratio,
    say,
    table,
    take_turns,
)
from tools.benchmarks.kernels.shapes import (
    CORE,
    KERNELS,
    LINEAR,
    PRODUCT,
    ROWS,
    WEIGHT_BYTES,
    core_flops,
    repeats,
)
from tools.benchmarks.workers import Workload

TORCH = "torch"
OURS, MAX, THEIRS = "MAX with kernels", "MAX", "Hugging Face"  # as the figures call them
WITH_KERNELS, BY_MAX, BY_TORCH = Way(OURS, COURSE, how=KERNELS), Way(MAX, COURSE), Way(THEIRS, TORCH)
SOURCE = Path(__file__).with_name("reading.mojo")


@dataclass(frozen=True)
class Plan:
    """What is run, and for how long."""

    batches: tuple[int, ...] = (1, 8)
    lengths: tuple[int, ...] = (1, 8, 64, 128, 512, 1024)
    rows: tuple[int, ...] = (1, 2, 4, 8)
    numbers: int = 1 << 27  # half a gigabyte, which no cache holds, to be read
    turn: float = 0.15  # seconds for which calls are repeated, far above the clock's own uncertainty


QUICK = Plan((2,), (5,), (2,), numbers=1 << 20, turn=0.01)

# ---------------------------------------------------------------- parts


def ground(plan: Plan, compare: Comparison) -> list[Row]:
    """Measure what the machine can do: a large product, by both libraries, and reading by threads of Mojo."""
    product = compare.run(Workload(PRODUCT), (BY_MAX, BY_TORCH)).times
    rates = {f"{way}, GFLOP/s": 2 * ROWS**3 / statistics.median(times) for way, times in product.items()}
    library = shared_library({SOURCE.name: SOURCE.read_text()}, SOURCE.name, "a reader")
    read = ctypes.CDLL(str(library)).read
    numbers = np.ones(plan.numbers, np.float32)

    def reading(threads: int) -> float:
        sums = np.zeros(threads, np.float32)
        start = time.perf_counter()
        read(*map(ctypes.c_int64, (numbers.ctypes.data, len(numbers), threads, sums.ctypes.data)))
        return time.perf_counter() - start

    for threads, times in take_turns(dict.fromkeys((1, cores())), compare.rounds, reading).items():
        name = f"{threads} thread{'s' * (threads > 1)} of Mojo, GB/s"
        rates[name] = numbers.nbytes / statistics.median(times)
    return [{"what": name, "figure": round(rate / 1e9, 1)} for name, rate in rates.items()]


def core(plan: Plan, compare: Comparison) -> list[Row]:
    """Time attention's core: all heads, without the projections."""
    rows = []
    for work in (Workload(CORE, batch, length) for batch in plan.batches for length in plan.lengths):
        timed = compare.run(work, (WITH_KERNELS, BY_TORCH))
        row: Row = {"batch": work.batch, "length": work.length}
        for way, times in timed.times.items():
            each = [seconds / repeats(work.length) for seconds in times]
            row[f"{way}, ms"] = milliseconds(each, 4)
            row[f"{way}, GFLOP/s"] = round(core_flops(work.batch, work.length) / statistics.median(each) / 1e9, 1)
        rows.append(row | {"ratio": ratio(timed.times[THEIRS], timed.times[OURS])})
    return rows


def linear(plan: Plan, compare: Comparison) -> list[Row]:
    """Time the linear layers of GPT-2 small, all of them, for few rows, by how fast they read their weights."""
    rows = []
    for count in plan.rows:
        times = compare.run(Workload(LINEAR, 1, count), (WITH_KERNELS, BY_MAX, BY_TORCH)).times
        rates = {f"{way}, GB/s": round(WEIGHT_BYTES / statistics.median(some) / 1e9, 1) for way, some in times.items()}
        ratios = {
            f"{name} / kernels": ratio(times[way], times[OURS]) for name, way in (("MAX", MAX), ("torch", THEIRS))
        }
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


def by_processor(results: Result, part: str) -> str:
    """Return the tables of one part, those of all processors below one another."""

    def tables(result: Result) -> list[str]:
        return [table(COLUMNS[part], result["parts"][part]["rows"])] if part in result["parts"] else []

    return harness.by_processor(results, tables)


def as_markdown(results: Result) -> str:
    """Return the tables of all parts."""
    return "\n\n".join(filter(None, (by_processor(results, part) for part in PARTS)))


# ---------------------------------------------------------------- the whole


def run(only: Sequence[str] | None, quick: bool, rounds: int, out: Path | None) -> None:
    """Compare, time, print the tables of this processor, and put its figures beside those of others.

    Raises:
        WrongOutput: the kernels compute something else than PyTorch.
        RuntimeError: one of them could not run something.
    """
    plan = QUICK if quick else Plan()
    result: Result = conditions(rounds) | {"instruction sets": instruction_sets(), "parts": {}}
    programs = {COURSE: "with_max", TORCH: "with_torch"}
    commands = {name: python(f"tools.benchmarks.kernels.{module}", ".") for name, module in programs.items()}
    with closing(Comparison(commands, BY_TORCH, rounds, plan.turn)) as compare:
        result["versions"] = compare.versions()
        for part in only or PARTS:
            say(part)
            head = {"rounds": rounds, "load": load()}
            result["parts"][part] = head | {"rows": PARTS[part](plan, compare)}
    finish_on_this_processor(as_markdown, result, out)
