"""Time the kernels of ``play/kernels``: the ground they stand on, the ladder to them, and what they are parts of.

Outputs are compared before anything is timed, and a wrong one ends the run (``comparison.py``). The figures of every
processor stay apart, and a part that is measured again replaces its own alone.
"""

from __future__ import annotations

import operator
import statistics
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from checker.course.installed import installed_version
from checker.processor import instruction_sets
from tools.benchmarks.backends import READING, Workload
from tools.benchmarks.comparison import HUGGING_FACE, MAX, Comparison, checkpoint
from tools.benchmarks.harness import (
    Column,
    Result,
    Row,
    conditions,
    finish,
    key,
    load,
    merged,
    milliseconds,
    ratio,
    read,
    say,
    table,
)
from tools.benchmarks.kernels.ladder import QUICK_SIZES, SIZES, Sizes, climb, reading
from tools.benchmarks.kernels.workloads import BARE, CORE, KERNELS, LINEAR, WEIGHT_BYTES, core_flops, cores
from tools.benchmarks.speed import peak, read_sizes
from tools.book_maker.values.arithmetic import decode_bytes


@dataclass(frozen=True)
class Plan:
    """What is run, and for how long."""

    rounds: int
    batches: tuple[int, ...] = (1, 8)
    lengths: tuple[int, ...] = (1, 8, 64, 128, 512, 1024)
    rows: tuple[int, ...] = (1, 2, 4, 8)
    sizes: tuple[Sizes, ...] = SIZES
    prompts: tuple[int, ...] = (16, 512)
    new_tokens: int = 33
    read: int = READING[0] * READING[1]  # numbers
    seconds_per_turn: float = 0.15  # calls are repeated for this long, far above the clock's own uncertainty


def quick(rounds: int) -> Plan:
    """Return a few short cases."""
    return Plan(rounds, (2,), (5,), (2,), QUICK_SIZES, (5,), 3, read=1 << 20, seconds_per_turn=0.01)


# ---------------------------------------------------------------- parts


def ladder(plan: Plan) -> list[Row]:
    """Time attention by one idea more at a time."""
    return climb(plan.rounds, plan.seconds_per_turn, plan.sizes)


def ground(plan: Plan, compare: Comparison) -> list[Row]:
    """Measure what the machine can do: a large product, by both libraries, and reading, by them and by threads."""
    found: Row = peak(compare, plan)  # type: ignore[arg-type]  # which reads nothing of a plan
    for threads, times in reading(plan.rounds, plan.seconds_per_turn, plan.read).items():
        name = f"{threads} thread{'s' * (threads > 1)} of Mojo, GB/s"
        found[name] = round(4 * plan.read / statistics.median(times) / 1e9, 1)
        say(f"  {name}: {found[name]}")
    return [{"what": name, "figure": figure} for name, figure in found.items()]


def core(plan: Plan, compare: Comparison) -> list[Row]:
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


def linear(plan: Plan, compare: Comparison) -> list[Row]:
    """Time the linear layers of GPT-2 small, all of them, for few rows, by how fast they read their weights."""
    rows = []
    for count in plan.rows:
        times, largest = compare.run(Workload(LINEAR, "", 1, count), KERNELS, MAX, HUGGING_FACE)
        row: Row = {"rows": count}
        for way, some in times.items():
            row[f"{way}, GB/s"] = round(WEIGHT_BYTES / statistics.median(some) / 1e9, 1)
        row["MAX / kernels"] = ratio(times[MAX], times[KERNELS])
        row["torch / kernels"] = ratio(times[HUGGING_FACE], times[KERNELS])
        rows.append(row | {"largest difference": float(f"{largest:.1e}")})
        compare.forget()
    return rows


def forward(plan: Plan, compare: Comparison) -> list[Row]:
    """Time the whole model, the logits of all tokens, with the kernel of attention and without; and its bare work."""
    rows = []
    for length in plan.lengths:
        ways = (KERNELS, MAX, HUGGING_FACE, BARE)
        times, largest = compare.run(Workload("forward", "", 1, length), *ways, partial=[BARE])
        row: Row = {"length": length} | {f"{way}, ms": milliseconds(some) for way, some in times.items()}
        row["MAX / kernels"] = ratio(times[MAX], times[KERNELS])
        row["Hugging Face / kernels"] = ratio(times[HUGGING_FACE], times[KERNELS])
        row["bare / kernels"] = ratio(times[BARE], times[KERNELS])
        rows.append(row | {"largest difference": float(f"{largest:.1e}")})
        compare.forget()
    return rows


def generation(plan: Plan, compare: Comparison) -> list[Row]:
    """Time greedy text after a prompt: the later tokens, whose time is that of reading weights and cache."""
    rows = []
    for prompt in plan.prompts:
        ways = (KERNELS, MAX, HUGGING_FACE)
        first, _ = compare.run(Workload("text", "", 1, prompt, 1), *ways)
        whole, largest = compare.run(Workload("text", "", 1, prompt, plan.new_tokens), *ways)
        row: Row = {"prompt": prompt, "new tokens": plan.new_tokens}
        bytes_read = decode_bytes(read_sizes(compare.folder), prompt + plan.new_tokens // 2)
        for way in ways:
            later = [(a - b) / (plan.new_tokens - 1) for a, b in zip(whole[way], first[way], strict=True)]
            row[f"{way}, tokens/s"] = round(1 / statistics.median(later), 1)
            row[f"{way}, GB/s"] = round(bytes_read / statistics.median(later) / 1e9, 1)
        rows.append(row | {"largest difference": float(f"{largest:.1e}")})
        compare.forget()
    return rows


ALONE: dict[str, Callable[[Plan], list[Row]]] = {"ladder": ladder}
IN_TURNS: dict[str, Callable[[Plan, Comparison], list[Row]]] = {
    part.__name__: part for part in (ground, core, linear, forward, generation)
}
PARTS = (*ALONE, *IN_TURNS)

# ---------------------------------------------------------------- tables

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
        Column("rows", "rows"),
        Column("kernel, GB/s", f"{KERNELS}, GB/s", ".1f"),
        Column("MAX, GB/s", f"{MAX}, GB/s", ".1f"),
        Column("torch, GB/s", f"{HUGGING_FACE}, GB/s", ".1f"),
        Column("MAX / kernel", "MAX / kernels", ".2f"),
        Column("torch / kernel", "torch / kernels", ".2f"),
    ],
    "forward": [
        Column("tokens", "length"),
        Column("with kernels, ms", f"{KERNELS}, ms", ".1f"),
        Column("without, ms", f"{MAX}, ms", ".1f"),
        Column("Hugging Face, ms", f"{HUGGING_FACE}, ms", ".1f"),
        Column("without / with", "MAX / kernels", ".2f"),
        Column("Hugging Face / with", "Hugging Face / kernels", ".2f"),
        Column("its products and core alone", "bare / kernels", ".0%"),
    ],
    "generation": [
        Column("after", "prompt"),
        Column("with the kernels, tokens/s", f"{KERNELS}, tokens/s", ".1f"),
        Column("without", f"{MAX}, tokens/s", ".1f"),
        Column("Hugging Face", f"{HUGGING_FACE}, tokens/s", ".1f"),
        Column("with the kernels, GB/s", f"{KERNELS}, GB/s", ".1f"),
    ],
}


def ladder_table(rows: Sequence[Row]) -> str:
    """Return a row for each rung, and a column for each size."""
    columns = [Column("milliseconds, by tokens", "rung")]
    columns += [Column(f"{size} tokens" if size.isdigit() else size, size, ".3g", "--:") for size in rows[0]["ms"]]
    return table(columns, ({"rung": row["rung"]} | row["ms"] for row in rows))


def table_of(part: str, rows: Sequence[Row]) -> str:
    """Return the figures of one part as a Markdown table."""
    return ladder_table(rows) if part == "ladder" else table(COLUMNS[part], rows)


def as_markdown(result: Result) -> str:
    """Return the figures of one processor as tables, one for each part."""
    return "\n\n".join(table_of(part, result["parts"][part]["rows"]) for part in PARTS if part in result["parts"])


def by_processor(results: Result, part: str) -> str:
    """Return the tables of one part, those of all processors below one another."""
    found = []
    for name, result in results.items():
        if part in result["parts"]:
            found += [f"**{name}**", table_of(part, result["parts"][part]["rows"])]
    return "\n\n".join(found)


def least_share(results: Result) -> float:
    """Return the least that linear layers and attention alone take of a forward pass with kernels, on any processor."""
    found = [result["parts"]["forward"]["rows"] for result in results.values() if "forward" in result["parts"]]
    return float(min(row["bare / kernels"] for rows in found for row in rows))


# ---------------------------------------------------------------- the whole


def merge(before: Result, result: Result) -> Result:
    """Return the figures of all processors, with those of one more run; a part that was measured again is replaced."""
    return merged(before, result, operator.or_)


def measure(parts: Sequence[str], model: Path | None, plan: Plan) -> Result:
    """Return the figures of some parts, each with its rounds and with the load before it.

    Raises:
        WrongOutput: the kernels compute something else than NumPy or PyTorch.
        RuntimeError: one of them could not run something.
    """
    result: Result = conditions(plan.rounds) | {"instruction sets": instruction_sets(), "parts": {}}
    result["versions"] = {"max": f"MAX {installed_version()}"}

    def keep(part: str, measured: Callable[..., list[Row]], *with_what: Comparison) -> None:
        say(part)
        head = {"rounds": plan.rounds, "load": load()}
        result["parts"][part] = head | {"rows": measured(plan, *with_what)}

    for part in ALONE:
        if part in parts:
            keep(part, ALONE[part])
    if in_turns := [part for part in IN_TURNS if part in parts]:
        with ExitStack() as opened:
            folder = opened.enter_context(checkpoint(model))
            scratch = Path(opened.enter_context(tempfile.TemporaryDirectory()))
            compare = opened.enter_context(closing(Comparison(folder, scratch, plan.rounds, plan.seconds_per_turn)))
            result["versions"]["hugging-face"] = compare.theirs.ask("about")["version"]
            for part in in_turns:
                keep(part, IN_TURNS[part], compare)
    return result


def run(only: Sequence[str] | None, model: Path | None, short: bool, rounds: int, out: Path | None) -> None:
    """Compare, time, print the tables of this processor, and put its figures beside those of others.

    Raises:
        WrongOutput: the kernels compute something else than NumPy or PyTorch.
        RuntimeError: one of them could not run something.
    """
    result = measure(only or PARTS, model, quick(rounds) if short else Plan(rounds))
    results = merge(read(out) if out else {}, result)
    finish(as_markdown(results[key()]), results, out)
