"""Time one step of training: this course's code in MAX, and PyTorch.

The figures of every processor stay apart, and a size that is measured again replaces its own alone.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from checker.processor import instruction_sets
from tools.benchmarks import harness
from tools.benchmarks.comparison import COURSE, HUGGING_FACE, Comparison, Way, peak_of, python
from tools.benchmarks.harness import Column, Result, Row, load, milliseconds, ratio, say, table
from tools.benchmarks.preparing import folder_of
from tools.benchmarks.workers import Workload

SECONDS_PER_TURN = 2.0
MAX, PYTORCH = Way("MAX", COURSE), Way("Hugging Face", HUGGING_FACE)  # as the figures call them
COMPILED = Way("torch.compile", HUGGING_FACE, how="torch.compile")
BFLOAT16 = Way("bfloat16", HUGGING_FACE, how="bfloat16", tolerance=0.03)
PROGRAMS = {COURSE: "tools.benchmarks.training.with_max", HUGGING_FACE: "tools.benchmarks.training.with_torch"}


class Size(NamedTuple):
    """A model to train, and on how many tokens at once."""

    name: str
    small: bool
    batch: int
    length: int


SIZES = {"small": Size("the model in the box", True, 8, 512), "gpt2": Size("GPT-2 small", False, 1, 1024)}

COLUMNS = (
    Column("model", "model"),
    Column("tokens per step", "tokens"),
    Column("this course in MAX, tokens/s", "MAX, tokens/s", ".0f", rule="--:"),
    Column("PyTorch, tokens/s", "Hugging Face, tokens/s", ".0f", rule="--:"),
    Column("PyTorch / MAX", "Hugging Face / MAX", ".2f", rule="--:"),
    Column("torch.compile / MAX", "torch.compile / MAX", ".2f", rule="--:"),
    Column("bfloat16 / MAX", "bfloat16 / MAX", ".2f", rule="--:"),
    Column("products alone, of a step", "share of products", ".0%", rule="--:"),  # recorded only
    Column("of the best product", "share of the peak", ".0%", rule="--:"),  # recorded only
    Column("memory in GB: MAX", "MAX, GB", ".1f", rule="--:"),
    Column("PyTorch", "Hugging Face, GB", ".1f", rule="--:"),
    Column("seconds to compile and take a step", "MAX, seconds to the first step, nothing compiled", ".0f", "--:"),
)


def measure(compare: Comparison, size: Size) -> tuple[Row, dict[str, str]]:
    """Time a step of one size in every way, then measure the memory of fresh processes; return also what failed."""
    tokens, workload = size.batch * size.length, Workload("step", size.batch, size.length)
    timed = compare.run(workload, (MAX, PYTORCH, COMPILED, BFLOAT16))
    row: Row = {"model": size.name, "tokens": tokens}
    for title, times in timed.times.items():
        row |= {f"{title}, ms": milliseconds(times), f"{title}, tokens/s": round(tokens / statistics.median(times), 1)}
        row |= {f"{title} / MAX": ratio(times, timed.times["MAX"])} if title != "MAX" else {}
    for way in (MAX, PYTORCH):
        row[f"{way.title}, GB"] = round(peak_of(compare.commands[way.library], way.of(workload)) / 1e9, 2)
    return row, timed.failed | compare.wrong


def by_processor(results: Result) -> str:
    """Return the tables of all processors below one another."""

    def tables(result: Result) -> list[str]:
        return [table(COLUMNS, [row for name in SIZES for row in result["parts"].get(name, {}).get("rows", [])])]

    return harness.by_processor(results, tables)


def failed(results: Result) -> str:
    """Return the log of everything that could not be timed, as Markdown."""
    logs = [
        f"{SIZES[size].name}, {way}, on {name} failed:\n\n```text\n{why.strip()}\n```"
        for name, result in results.items()
        for size, part in result["parts"].items()
        for way, why in part["failed"].items()
        if f"{way}, ms" not in part["rows"][0]
    ]
    return "\n\n".join(logs) or "Each of them ran on every processor."


def run(only: Sequence[str] | None, rounds: int, out: Path | None) -> None:
    """Time a step of every size, print a table, and put the figures beside those of other processors.

    Raises:
        WrongOutput: a step of this course computes something else than PyTorch's.
        RuntimeError: one of the two could not run something.
        CannotPrepare: the checkpoint cannot be made.
    """
    result: Result = harness.conditions(rounds) | {"instruction sets": instruction_sets(), "parts": {}}
    for name in only or SIZES:
        say(f"{SIZES[name].name}, {SIZES[name].batch} x {SIZES[name].length} tokens")
        folder, before = folder_of(SIZES[name].small), load()
        commands = {library: python(module, folder) for library, module in PROGRAMS.items()}
        with closing(Comparison(commands, PYTORCH, rounds, SECONDS_PER_TURN)) as compare:
            result["versions"] = compare.versions()
            row, reasons = measure(compare, SIZES[name])
        result["parts"][name] = {"rounds": rounds, "load": before, "rows": [row], "failed": reasons}
    harness.finish_on_this_processor(by_processor, result, out)
