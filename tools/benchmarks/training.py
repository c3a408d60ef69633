"""Compare one step of training: this course's code in MAX, and PyTorch.

Losses and norms of two steps are compared before anything is timed; a wrong one ends the run.
"""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from checker.course.paths import SMALL_MODEL
from solutions.solution_01 import GPT2Config
from solutions.solution_13 import read_config
from tools.benchmarks.backends import PRODUCT, Workload
from tools.benchmarks.comparison import COMPILED, HUGGING_FACE, MAX, Comparison, checkpoint, once
from tools.benchmarks.harness import Column, Result, Row, conditions, finish, milliseconds, ratio, say, table
from tools.benchmarks.speed import forward_flops
from tools.benchmarks.step import BFLOAT16

SECONDS_PER_TURN = 2.0
COLD = f"{MAX}, seconds to the first step, nothing compiled"
WAYS = (MAX, HUGGING_FACE, COMPILED, BFLOAT16)
COLUMNS = (
    Column("model", "model"),
    Column("tokens per step", "tokens"),
    Column("this course in MAX, tokens/s", f"{MAX}, tokens/s", ".0f", rule="--:"),
    Column("PyTorch, tokens/s", f"{HUGGING_FACE}, tokens/s", ".0f", rule="--:"),
    Column("PyTorch / MAX", f"{HUGGING_FACE} / {MAX}", ".2f", rule="--:"),
    Column("torch.compile / MAX", f"{COMPILED} / {MAX}", ".2f", rule="--:"),
    Column("bfloat16 / MAX", f"{BFLOAT16} / {MAX}", ".2f", rule="--:"),
    Column("products alone, of a step", "share of products", ".0%", rule="--:"),
    Column("of the best product", "share of the peak", ".0%", rule="--:"),
    Column("memory in GB: MAX", f"{MAX}, GB", ".1f", rule="--:"),
    Column("PyTorch", f"{HUGGING_FACE}, GB", ".1f", rule="--:"),
    Column("seconds to compile and take a step", COLD, ".0f", rule="--:"),
)


@dataclass(frozen=True)
class Size:
    """A model to train, and on how many tokens at once; without a folder, GPT-2 small with seeded weights."""

    name: str
    folder: Path | None
    batch: int
    length: int


SIZES = {"small": Size("the model in the box", SMALL_MODEL, 8, 256), "gpt2": Size("GPT-2 small", None, 1, 1024)}


def step_flops(config: GPT2Config, batch: int, length: int) -> int:
    """Return the operations that a step needs: backward takes two products for each one of the forward pass."""
    return 3 * batch * forward_flops(config, length)


def measure(compare: Comparison, folder: Path, size: Size, cold: Path | None) -> Row:
    """Time a step of one size in every way, its products alone, and the machine's best product, in the same run.

    With an empty folder ``cold`` for what MAX compiles, also time the first step of a process that finds nothing there.
    """
    config, tokens = read_config(folder), size.batch * size.length
    workload = Workload("step", "", size.batch, size.length)
    times, largest = compare.run(workload, *WAYS)
    row: Row = {"model": size.name, "tokens": tokens, "largest difference": float(f"{largest:.1e}")}
    for way, some in times.items():
        row |= {f"{way}, ms": milliseconds(some), f"{way}, tokens/s": round(tokens / statistics.median(some), 1)}
        row |= {f"{way} / {MAX}": ratio(some, times[MAX])} if way != MAX else {}
    row |= alone(compare, replace(workload, part="products", way=MAX), "products")
    row["share of products"] = round(row["products, ms"] / row[f"{MAX}, ms"], 3)
    row |= alone(compare, Workload("product", MAX), "best product")
    best = 2 * PRODUCT**3 / row["best product, ms"]
    row["share of the peak"] = round(step_flops(config, size.batch, size.length) / row[f"{MAX}, ms"] / best, 3)
    compare.forget()
    for way in (MAX, HUGGING_FACE):
        seconds, peak = once(way, folder, replace(workload, way=way))
        row |= {f"{way}, GB": round(peak / 1e9, 2), f"{way}, seconds to the first step": round(seconds, 1)}
    if cold:
        seconds, _ = once(MAX, folder, replace(workload, way=MAX), XDG_CACHE_HOME=str(cold))
        row[COLD] = round(seconds, 1)
    return row


def alone(compare: Comparison, workload: Workload, name: str) -> Row:
    """Time a workload that is not compared with anything."""
    worker = compare.worker(workload)
    once_more = worker.ask("time", workload, calls=1)["seconds"]
    calls = max(1, round(compare.turn / once_more))
    times = [worker.ask("time", workload, calls=calls)["seconds"] for _ in range(compare.rounds)]
    say(f"  {workload}: {milliseconds(times)} ms")
    return {f"{name}, ms": milliseconds(times)}


def as_markdown(result: Result) -> str:
    """Return the figures as a table; a column without a figure in any row is left out."""
    rows = result["sizes"]
    return table([column for column in COLUMNS if any(column.key in row for row in rows)], rows)


def run(only: list[str] | None, cold: bool, rounds: int, out: Path | None) -> None:
    """Time a step of every size, and print a table."""
    result: Result = conditions(rounds) | {"sizes": [], "failed": {}}
    for name in only or SIZES:
        size = SIZES[name]
        say(f"{size.name}, {size.batch} x {size.length} tokens")
        with checkpoint(size.folder) as folder, tempfile.TemporaryDirectory() as scratch:
            compare = Comparison(folder, Path(scratch), rounds, SECONDS_PER_TURN)
            try:
                result["versions"] = [compare.ours.ask("about")["version"], compare.theirs.ask("about")["version"]]
                empty = Path(scratch) / "nothing" if cold else None
                result["sizes"].append(measure(compare, folder, size, empty))
                result["failed"] |= {f"{size.name}, {way}": why for way, why in compare.failed.items()}
            finally:
                compare.close()
    finish(as_markdown(result), result, out)
