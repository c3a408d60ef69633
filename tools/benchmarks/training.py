"""Compare one step of training: this course's code in MAX, and PyTorch.

Losses of two steps, and the norm of the first, are compared before anything is timed; a wrong one ends the run. The
figures of every processor stay apart, and a size that is measured again replaces its own alone.
"""

from __future__ import annotations

import math
import operator
import statistics
import tempfile
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from checker.course.installed import installed_version
from checker.course.paths import SMALL_MODEL
from checker.processor import instruction_sets
from solutions.solution_01 import GPT2Config
from tools.benchmarks.backends import PRODUCT, Workload
from tools.benchmarks.comparison import COMPILED, HUGGING_FACE, MAX, Comparison, WrongOutput, checkpoint, once
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
    rest,
    say,
    table,
)
from tools.benchmarks.speed import forward_flops, read_sizes
from tools.benchmarks.step import BFLOAT16

SECONDS_PER_TURN = 2.0
COMPARED = 200  # steps at the beginning of a training, whose losses PyTorch must have as well
LOSS_APART, BITS_APART = 0.01, 0.02  # at most: of a loss, as a share; of the bits per byte of the held-out text
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
CURVES = (
    Column("steps", "steps", ","),
    Column("losses compared", "compared"),
    Column("at most apart", "apart", ".3%"),
    Column("bits per byte at last, MAX", "MAX, bits", ".4f"),
    Column("PyTorch", "PyTorch, bits", ".4f"),
)


@dataclass(frozen=True)
class Size:
    """A model to train, and on how many tokens at once; without a folder, GPT-2 small with seeded weights."""

    name: str
    folder: Path | None
    batch: int
    length: int


SIZES = {"small": Size("the model in the box", SMALL_MODEL, 8, 512), "gpt2": Size("GPT-2 small", None, 1, 1024)}


def step_flops(config: GPT2Config, batch: int, length: int) -> int:
    """Return the operations that a step needs: backward takes two products for each one of the forward pass."""
    return 3 * batch * forward_flops(config, length)


def measure(compare: Comparison, folder: Path, size: Size, cold: Path | None) -> Row:
    """Time a step of one size in every way, its products alone, and the machine's best product, in the same run.

    With an empty folder ``cold`` for what MAX compiles, also time the first step of a process that finds nothing there.
    """
    config, tokens = read_sizes(folder), size.batch * size.length
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
    rest()
    once_more = worker.ask("time", workload, calls=1)["seconds"]
    calls = max(1, round(compare.turn / once_more))
    times = [worker.ask("time", workload, calls=calls)["seconds"] for _ in range(compare.rounds)]
    say(f"  {workload}: {milliseconds(times)} ms")
    return {f"{name}, ms": milliseconds(times)}


# ---------------------------------------------------------------- the same training in PyTorch


def follow(folder: Path, steps: int | None) -> Row:
    """Repeat a training, or its first steps, in PyTorch: the same first weights, batches, and learning rates.

    Returns:
        How far the losses of the first :data:`COMPARED` steps are apart, and the bits per byte of the held-out text.

    Raises:
        ValueError: this is not the folder of a training, or it has had fewer steps.
        WrongOutput: the two learn differently.
    """
    from play.training.checkpoint import Folder
    from play.training.windows import read_material
    from tools.benchmarks.step import torch_training

    saved, tokenizer = Folder(folder).load()
    last = steps or saved.step
    if last > saved.step:
        raise ValueError(f"{folder} has had {saved.step:,} steps, and cannot be followed for {last:,}")
    ours = {one["step"]: one["bits_per_byte"] for one in saved.history.evaluations}
    compared, far, bits, evaluated = 0, 0.0, (math.nan, math.nan), False
    for step, loss, evaluate in torch_training(saved.plan, read_material(saved.plan, tokenizer), last):
        mine = saved.history.losses[step - 1]
        if step <= COMPARED:
            compared, far = step, float(np.maximum(far, abs(loss / mine - 1)))  # which keeps a NaN
        if step in ours:
            bits, evaluated = (ours[step], evaluate()), True
            say(f"  step {step:,}: loss {mine:.4f} and {loss:.4f}, bits per byte {bits[0]:.4f} and {bits[1]:.4f}")
    alike = abs(bits[0] - bits[1]) <= BITS_APART or not evaluated  # the first steps have no held-out text to compare
    if not (far <= LOSS_APART and alike):  # a NaN is no likeness
        raise WrongOutput(f"PyTorch learns differently: losses {far:.2%} apart, bits per byte {bits[0]} and {bits[1]}")
    return {"steps": last, "compared": compared, "apart": far, "MAX, bits": bits[0], "PyTorch, bits": bits[1]}


# ---------------------------------------------------------------- the whole


def as_markdown(result: Result) -> str:
    """Return the figures of one processor as a table; a column without a figure in any row is left out."""
    rows = [part["row"] for name in SIZES if (part := result["parts"].get(name))]
    return table([column for column in COLUMNS if any(column.key in row for row in rows)], rows)


def as_curve(row: Row) -> str:
    """Return how far a training in PyTorch was from this course's, as a table."""
    return table(CURVES, [row])


def by_processor(results: Result) -> str:
    """Return the tables of all processors below one another."""
    return "\n\n".join(f"**{name}**\n\n{as_markdown(result)}" for name, result in results.items())


def failed(results: Result) -> str:
    """Return the log of everything that could not be timed, as Markdown."""
    found = [
        f"{SIZES[size].name}, {way}, on {name} failed:\n\n```text\n{why.strip()}\n```"
        for name, result in results.items()
        for size, part in result["parts"].items()
        for way, why in part["failed"].items()
    ]
    return "\n\n".join(found) or "Each of them ran on every processor."


def merge(before: Result, result: Result) -> Result:
    """Return the figures of all processors, with those of one more run; a size that was measured again is replaced."""
    return merged(before, result, operator.or_)


def run(only: list[str] | None, cold: bool, rounds: int, out: Path | None) -> None:
    """Time a step of every size, print a table, and put the figures beside those of other processors.

    Raises:
        WrongOutput: a step computes something else than PyTorch's.
        RuntimeError: one of the two could not run something.
    """
    result: Result = conditions(rounds) | {"instruction sets": instruction_sets(), "parts": {}}
    for name in only or SIZES:
        size = SIZES[name]
        say(f"{size.name}, {size.batch} x {size.length} tokens")
        with (
            checkpoint(size.folder) as folder,
            tempfile.TemporaryDirectory() as scratch,
            closing(Comparison(folder, Path(scratch), rounds, SECONDS_PER_TURN)) as compare,
        ):
            theirs = compare.theirs.ask("about")["version"]
            result["versions"] = {"max": f"MAX {installed_version()}", "hugging-face": theirs}
            empty = Path(scratch) / "nothing" if cold else None
            part = {"rounds": rounds, "load": load(), "row": measure(compare, folder, size, empty)}
            result["parts"][name] = part | {"failed": compare.failed}
    results = merge(read(out) if out else {}, result)
    finish(as_markdown(results[key()]), results, out)


def run_after(folder: Path, steps: int | None, out: Path | None) -> None:
    """Repeat a training in PyTorch, and print how far apart the two are.

    Raises:
        ValueError: this is not the folder of a training, or it has had fewer steps.
        WrongOutput: the two learn differently.
    """
    row = follow(folder, steps)
    finish(as_curve(row), row, out)
