"""Time the kernels of ``play/kernels``: the ground they stand on, attention's core, a linear layer, and the model.

Outputs are compared before anything is timed, and a wrong one ends the run (``comparison.py``).
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from tools.benchmarks.backends import Workload
from tools.benchmarks.comparison import HUGGING_FACE, MAX, Comparison, checkpoint
from tools.benchmarks.harness import Column, Result, Row, conditions, finish, milliseconds, ratio, say, table
from tools.benchmarks.kernels.workloads import CORE, KERNELS, OUTPUTS, WIDTH, core_flops, cores
from tools.benchmarks.speed import peak


@dataclass(frozen=True)
class Plan:
    """What is run, and for how long."""

    batches: tuple[int, ...] = (1, 8)
    lengths: tuple[int, ...] = (1, 8, 64, 128, 512, 1024)
    rows: tuple[int, ...] = (1, 2, 4, 8)
    seconds_per_turn: float = 0.15  # calls are repeated for this long, far above the clock's own uncertainty
    parts: tuple[str, ...] = ("ground", "core", "linear", "forward")


QUICK = Plan(batches=(2,), lengths=(5,), rows=(2,), seconds_per_turn=0.01)


def ground(compare: Comparison, plan: Plan) -> list[Row]:
    """Measure what the machine can do: a large product, and reading a large matrix, by both libraries."""
    row = peak(compare, plan)  # type: ignore[arg-type]  # which reads nothing of a plan
    return [{"what": name, "figure": figure} for name, figure in row.items()]


def core(compare: Comparison, plan: Plan) -> list[Row]:
    """Time attention's core: all heads, without the projections."""
    rows = []
    for batch in plan.batches:
        for length in plan.lengths:
            times, largest = compare.run(Workload(CORE, "", batch, length), KERNELS, HUGGING_FACE)
            row: Row = {"batch": batch, "length": length}
            for way, some in times.items():
                each = [one / cores(length) for one in some]
                row[f"{way}, ms"] = milliseconds(each, 4)
                row[f"{way}, GFLOP/s"] = round(core_flops(batch, length) / statistics.median(each) / 1e9, 1)
            row["ratio"] = ratio(times[HUGGING_FACE], times[KERNELS])
            rows.append(row | {"largest difference": float(f"{largest:.1e}")})
            compare.forget()
    return rows


def linear(compare: Comparison, plan: Plan) -> list[Row]:
    """Time one linear layer for few rows, c_attn's and the head's, by how fast it reads its weights."""
    rows = []
    for part, outputs in OUTPUTS.items():
        for count in plan.rows:
            times, largest = compare.run(Workload(part, "", 1, count), KERNELS, MAX, HUGGING_FACE)
            row: Row = {"outputs": outputs, "rows": count}
            for way, some in times.items():
                row[f"{way}, GB/s"] = round(4 * outputs * WIDTH / statistics.median(some) / 1e9, 1)
            row["MAX / kernels"] = ratio(times[MAX], times[KERNELS])
            row["torch / kernels"] = ratio(times[HUGGING_FACE], times[KERNELS])
            rows.append(row | {"largest difference": float(f"{largest:.1e}")})
            compare.forget()
    return rows


def forward(compare: Comparison, plan: Plan) -> list[Row]:
    """Time the whole model, the logits of all tokens, with the kernel of attention and without."""
    rows = []
    for length in plan.lengths:
        times, largest = compare.run(Workload("forward", "", 1, length), KERNELS, MAX, HUGGING_FACE)
        row: Row = {"length": length} | {f"{way}, ms": milliseconds(some) for way, some in times.items()}
        row["MAX / kernels"] = ratio(times[MAX], times[KERNELS])
        row["Hugging Face / kernels"] = ratio(times[HUGGING_FACE], times[KERNELS])
        rows.append(row | {"largest difference": float(f"{largest:.1e}")})
        compare.forget()
    return rows


PARTS = {part.__name__: part for part in (ground, core, linear, forward)}

COLUMNS = {
    "ground": [Column("a large product, and reading a large matrix", "what"), Column("reached", "figure", ".0f")],
    "core": [
        Column("batch", "batch"),
        Column("tokens", "length"),
        Column("kernel, ms", f"{KERNELS}, ms", ".4f"),
        Column("sdpa, ms", f"{HUGGING_FACE}, ms", ".4f"),
        Column("sdpa / kernel", "ratio", ".2f"),
        Column("kernel, GFLOP/s", f"{KERNELS}, GFLOP/s", ".0f"),
        Column("sdpa, GFLOP/s", f"{HUGGING_FACE}, GFLOP/s", ".0f"),
    ],
    "linear": [
        Column("outputs", "outputs"),
        Column("rows", "rows"),
        Column("kernel, GB/s", f"{KERNELS}, GB/s", ".1f"),
        Column("MAX, GB/s", f"{MAX}, GB/s", ".1f"),
        Column("torch, GB/s", f"{HUGGING_FACE}, GB/s", ".1f"),
        Column("MAX / kernel", "MAX / kernels", ".2f"),
        Column("torch / kernel", "torch / kernels", ".2f"),
    ],
    "forward": [
        Column("tokens", "length"),
        Column("with the kernel, ms", f"{KERNELS}, ms", ".1f"),
        Column("without, ms", f"{MAX}, ms", ".1f"),
        Column("Hugging Face, ms", f"{HUGGING_FACE}, ms", ".1f"),
        Column("without / with", "MAX / kernels", ".2f"),
        Column("Hugging Face / with", "Hugging Face / kernels", ".2f"),
    ],
}


def as_markdown(result: Result) -> str:
    """Return the figures as tables, one for each part."""
    return "\n\n".join(table(columns, result[part]) for part, columns in COLUMNS.items() if part in result)


def run(only: Sequence[str] | None, model: Path | None, quick: bool, rounds: int, out: Path | None) -> None:
    """Compare, time, and print tables.

    Raises:
        WrongOutput: the kernels compute something else than PyTorch.
        RuntimeError: one of them could not run something.
    """
    plan = QUICK if quick else Plan()
    result = conditions(rounds)
    with ExitStack() as opened:
        folder = opened.enter_context(checkpoint(model))
        scratch = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        compare = opened.enter_context(closing(Comparison(folder, scratch, rounds, plan.seconds_per_turn)))
        result["versions"] = ", ".join(worker.ask("about")["version"] for worker in (compare.ours, compare.theirs))
        for part in only or plan.parts:
            say(part)
            result[part] = PARTS[part](compare, plan)
    finish(as_markdown(result), result, out)
