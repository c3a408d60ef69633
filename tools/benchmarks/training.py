"""Time one step of training: this course's code in MAX, and PyTorch.

The figures of every processor stay apart, and a size that is measured again replaces its own alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from checker.course.steps import SMALL_MODEL
from tools.benchmarks import harness
from tools.benchmarks.comparison import Comparison, Way
from tools.benchmarks.harness import Column, Result, Row, median, ratio, table
from tools.benchmarks.preparing import COURSE, HUGGING_FACE, checkpoint_of
from tools.benchmarks.workers import Workload
from tools.benchmarks.workloads import BFLOAT16, COMPILED, STEP

SECONDS_PER_TURN = 2.0
MAX, PYTORCH = Way("MAX", COURSE), Way("Hugging Face", HUGGING_FACE)  # as the figures call them
WAYS = (
    MAX,
    PYTORCH,
    Way("torch.compile", HUGGING_FACE, how=COMPILED),
    Way("bfloat16", HUGGING_FACE, how=BFLOAT16, tolerance=0.03),
)


SIZES = {  # a model in words, and on how many tokens at once it is trained: batch and length
    "small": ("the model in the box", 8, 512),
    "gpt2": ("GPT-2 small", 1, 1024),
}

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


def measure(compare: Comparison, model: str, batch: int, length: int) -> Row:
    """Time a step of one size in every way, then measure the memory of fresh processes."""
    tokens, workload = batch * length, Workload(STEP, batch, length)
    timed = compare.run(workload, WAYS)
    row: Row = {"model": model, "tokens": tokens}
    for title, times in timed.items():
        row[f"{title}, ms"] = median(1000 * time for time in times)
        row[f"{title}, tokens/s"] = median((tokens / time for time in times), 1)
        row |= {f"{title} / MAX": ratio(times, timed["MAX"])} if title != "MAX" else {}
    for title, peak in compare.peaks(workload, (MAX, PYTORCH)).items():
        row[f"{title}, GB"] = round(peak / 1e9, 2)
    return row


def tables(result: Result) -> list[str]:
    """Return the one table, with a row for each size that was measured."""
    return [table(COLUMNS, [row for name in SIZES for row in result["parts"].get(name, [])])]


def run(only: Sequence[str], rounds: int, out: Path | None) -> None:
    """Time a step of every size, print a table, and put the figures beside those of other processors.

    Raises:
        UserError: this course or PyTorch could not run something, or this course computes something else.
    """
    result: Result = harness.conditions(rounds) | {"failed": {}, "parts": {}}
    for name in only:
        checkpoint = SMALL_MODEL if name == "small" else checkpoint_of()
        with closing(Comparison(checkpoint, PYTORCH, rounds, SECONDS_PER_TURN)) as compare:
            result["parts"][name] = [measure(compare, *SIZES[name])]
            result["failed"] |= {f"{SIZES[name][0]}, {title},": why for title, why in compare.failed.items()}
            result["versions"] = compare.versions
    harness.finish_on_this_processor(lambda results: harness.by_processor(results, tables), result, out)
