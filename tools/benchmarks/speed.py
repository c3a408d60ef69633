"""Time this course's model beside Hugging Face's: the same weights, the same input, the same cores.

Outputs are compared before anything is timed, and a wrong one ends the run (``comparison.py``).
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from solutions.solution_01 import GPT2Config
from tools.benchmarks.backends import PRODUCT, READING, Workload
from tools.benchmarks.comparison import (
    BACKENDS,
    COMPILED,
    EAGER,
    HUGGING_FACE,
    MAX,
    NO_CACHE,
    Comparison,
    checkpoint,
    once,
)
from tools.benchmarks.harness import (
    Column,
    Result,
    Row,
    conditions,
    cores,
    finish,
    load,
    milliseconds,
    ratio,
    say,
    seconds,
    table,
    take_turns,
)
from tools.book_maker.values.arithmetic import decode_bytes, token_flops


@dataclass(frozen=True)
class Plan:
    """What is run, and for how long."""

    attention_batches: tuple[int, ...] = (1, 8)
    lengths: tuple[int, ...] = (1, 8, 64, 128, 512, 1024)
    prompts: tuple[int, ...] = (16, 512)
    new_tokens: int = 128
    growth_lengths: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
    growth_batches: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    growth_length: int = 64  # tokens in each sequence of every batch
    seconds_per_turn: float = 0.15  # calls are repeated for this long, far above the clock's own uncertainty
    parts: tuple[str, ...] = ("peak", "attention", "forward", "generation", "memory", "first", "growth", "gpu")


QUICK = Plan(
    attention_batches=(1,),
    lengths=(8, 64),
    prompts=(16,),
    new_tokens=8,
    growth_lengths=(8, 64),
    growth_batches=(1, 2),
    seconds_per_turn=0.03,
    parts=("peak", "attention", "forward", "generation"),
)

# ---------------------------------------------------------------- parts


def rows_of(compare: Comparison, workloads: Iterable[Workload], ways: Sequence[str], *sizes: str) -> list[Row]:
    """Time one workload after another, and return a row for each.

    A row has the named sizes of its workload, the milliseconds of every way, how many times longer than MAX the other
    ways take, and the largest difference between their outputs.
    """
    rows = []
    for workload in workloads:
        times, largest = compare.run(workload, *ways)
        row: Row = {name: getattr(workload, name) for name in sizes}
        row |= {f"{way}, ms": milliseconds(some) for way, some in times.items()}
        row |= {f"{way} / {MAX}": ratio(some, times[MAX]) for way, some in times.items() if way != MAX}
        rows.append(row | {"largest difference": float(f"{largest:.1e}")})
        compare.forget()
    return rows


def peak(compare: Comparison, plan: Plan) -> Row:
    """Measure what both libraries reach on this machine: for a large product, and for reading a large matrix."""
    product, _ = compare.run(Workload("product", ""), *BACKENDS)
    reading, _ = compare.run(Workload("reading", ""), *BACKENDS)
    compare.forget()
    flops, size = 2 * PRODUCT**3, 4 * READING[0] * READING[1]
    row: Row = {f"{way}, GFLOP/s": round(flops / statistics.median(some) / 1e9, 1) for way, some in product.items()}
    return row | {f"{way}, GB/s": round(size / statistics.median(some) / 1e9, 1) for way, some in reading.items()}


def attention(compare: Comparison, plan: Plan) -> list[Row]:
    """Time the attention module alone."""
    workloads = [Workload("attention", "", batch, at) for batch in plan.attention_batches for at in plan.lengths]
    return rows_of(compare, workloads, (MAX, HUGGING_FACE, EAGER, COMPILED), "batch", "length")


def forward(compare: Comparison, plan: Plan) -> list[Row]:
    """Time the whole model, for the logits of all tokens."""
    workloads = [Workload("forward", "", length=length) for length in plan.lengths]
    return rows_of(compare, workloads, tuple(BACKENDS), "length")


def generation(compare: Comparison, plan: Plan) -> list[Row]:
    """Time greedy text after a prompt; the time to the first token is the prompt's, the rest is the later tokens'."""
    rows, new = [], plan.new_tokens
    for prompt in plan.prompts:
        workload = Workload("text", "", length=prompt, new_tokens=new)
        first, _ = compare.run(replace(workload, new_tokens=1), *BACKENDS)
        whole, largest = compare.run(workload, *BACKENDS)
        # Without a cache, a token costs a forward pass over all before it: time three, with Simpson's rule between.
        ends = [Workload("token", "", length=prompt + at) for at in (0, new // 2, new - 1)]
        one, middle, last = (statistics.median(compare.run(end, NO_CACHE)[0][NO_CACHE]) for end in ends)
        row: Row = {"prompt": prompt, "new tokens": new}
        for way, times in whole.items():
            row[f"{way}, tokens/s"] = round(new / statistics.median(times), 2)
            row[f"{way}, ms to the first token"] = milliseconds(first[way])
            later = [(a - b) / (new - 1) for a, b in zip(times, first[way], strict=True)]
            row[f"{way}, ms a later token"] = milliseconds(later)
        row[f"{NO_CACHE}, tokens/s"] = round(6 / (one + 4 * middle + last), 2)
        row[f"{HUGGING_FACE} / {MAX}"] = ratio(whole[HUGGING_FACE], whole[MAX])
        rows.append(row | {"largest difference": float(f"{largest:.1e}")})
        compare.forget()
    return rows


def growth(compare: Comparison, plan: Plan) -> list[Row]:
    """Time attention as the length grows, and as the batch grows."""
    shapes = [(1, length) for length in plan.growth_lengths]
    shapes += [(batch, plan.growth_length) for batch in plan.growth_batches]
    workloads = [Workload("attention", "", *shape) for shape in dict.fromkeys(shapes)]
    return rows_of(compare, workloads, tuple(BACKENDS), "batch", "length")


def gpu(compare: Comparison, plan: Plan) -> list[Row] | str:
    """Time attention and the whole model on the GPU, in both precisions, if both libraries can use one."""
    if "gpu" not in compare.theirs.ask("about")["devices"]:
        return "MAX can use this machine's GPU; this torch cannot"
    workloads = [
        Workload(part, "", length=length, device="gpu", dtype=dtype)
        for dtype in ("float32", "bfloat16")
        for part in ("attention", "forward")
        for length in plan.lengths
    ]
    return rows_of(compare, workloads, tuple(BACKENDS), "part", "dtype", "length")


def memory(folder: Path, plan: Plan) -> Row:
    """Measure the peak megabytes of a fresh process that loads the checkpoint and runs one workload."""
    longest, shortest = max(plan.lengths), min(plan.prompts)
    workloads = {
        f"forward of {longest} tokens": Workload("forward", "", length=longest),
        f"{plan.new_tokens} tokens after {shortest}": Workload("text", "", length=shortest, new_tokens=plan.new_tokens),
    }
    found: Row = {}
    for name, workload in workloads.items():
        found[name] = {f"{way}, MB": round(once(way, folder, workload)[1] / 1e6) for way in BACKENDS}
        say(f"  {name}: {found[name]}")
    return found


def first(folder: Path, rounds: int, cold: bool) -> Row:
    """Time from starting Python to the logits of 8 tokens: imports, weights, compiling, and the forward pass."""
    workload = Workload("forward", "", length=8)
    times = take_turns(BACKENDS, min(rounds, 3), lambda way: once(way, folder, workload)[0])
    row: Row = {f"{way}, s": seconds(some, 2) for way, some in times.items()}
    if cold:
        with tempfile.TemporaryDirectory() as empty:
            row[f"{MAX} with an empty cache, s"] = round(once(MAX, folder, workload, XDG_CACHE_HOME=empty)[0], 1)
    say(f"  first result: {row}")
    return row


IN_TURNS: dict[str, Callable[[Comparison, Plan], Any]] = {
    part.__name__: part for part in (peak, attention, forward, generation, growth, gpu)
}

# ---------------------------------------------------------------- the whole


def measure(folder: Path, parts: Sequence[str], rounds: int, plan: Plan, cold: bool = False) -> Result:
    """Return all figures of some parts.

    Raises:
        WrongOutput: the two backends do not compute the same.
        RuntimeError: one of them could not run something.
    """
    result = conditions(rounds)
    if result["load"] > 0.5:
        say(f"the load is {result['load']:.1f} on {cores()} cores, so the figures will include other work")
    with ExitStack() as opened:
        scratch = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        compare = opened.enter_context(closing(Comparison(folder, scratch, rounds, plan.seconds_per_turn)))
        ours, theirs = compare.ours.ask("about"), compare.theirs.ask("about")
        result["versions"] = f"{ours['version']}, {theirs['version']}"
        result["threads"] = {MAX: f"its own choice, on {cores()} cores", HUGGING_FACE: theirs["threads"]}
        for part in IN_TURNS:
            if part in parts and (part != "gpu" or "gpu" in ours["devices"]):
                say(part)
                result[part] = IN_TURNS[part](compare, plan)
        if compare.failed:
            result["not timed"] = compare.failed
    if "memory" in parts:
        say("memory")
        result["memory"] = memory(folder, plan)
    if "first" in parts:
        say("first")
        result["first"] = first(folder, rounds, cold)
    if "peak" in result:
        add_shares(result, read_sizes(folder))
    result["load afterwards"] = load()
    return result


def read_sizes(folder: Path) -> GPT2Config:
    """Return the sizes of a checkpoint; read here without MAX, which would make this process large."""
    values = json.loads((folder / "config.json").read_text())
    names = ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head", "n_inner")
    return GPT2Config(**{name: values[name] for name in names if name in values})


def forward_flops(config: GPT2Config, length: int) -> int:
    """Return the operations that the logits of a text need, if each token looks only at those up to itself."""
    return sum(token_flops(config, context) for context in range(1, length + 1))


def add_shares(result: Result, config: GPT2Config) -> None:
    """Add the share of the machine's peak that each forward pass reaches, and that of its bandwidth by later tokens."""
    flops = max(value for name, value in result["peak"].items() if name.endswith("GFLOP/s")) * 1e9
    bandwidth = max(value for name, value in result["peak"].items() if name.endswith("GB/s")) * 1e9
    for way in BACKENDS:
        for row in result.get("forward", []):
            taken = row[f"{way}, ms"] / 1000
            row[f"{way}, share of the peak"] = round(forward_flops(config, row["length"]) / taken / flops, 3)
        for row in result.get("generation", []):
            taken = row[f"{way}, ms a later token"] / 1000
            read = decode_bytes(config, row["prompt"] + row["new tokens"] // 2)
            row[f"{way}, share of the bandwidth"] = round(read / taken / bandwidth, 3)


# ---------------------------------------------------------------- tables


def _columns(*described: tuple[str, str, str]) -> list[Column]:
    return [Column(title, key, spec, rule=" --- ") for title, key, spec in described]


#: For each part, the columns of its table: title, figure, format. A column without a figure in any row is left out.
COLUMNS = {
    "attention": _columns(
        ("batch", "batch", ""),
        ("tokens", "length", ""),
        ("MAX, ms", "MAX, ms", ".2f"),
        ("Hugging Face, sdpa, ms", "Hugging Face, ms", ".2f"),
        ("Hugging Face, eager, ms", "eager, ms", ".2f"),
        ("sdpa, torch.compile, ms", "torch.compile, ms", ".2f"),
        ("sdpa / MAX", "Hugging Face / MAX", ".2f"),
    ),
    "forward": _columns(
        ("tokens", "length", ""),
        ("MAX, ms", "MAX, ms", ".1f"),
        ("Hugging Face, ms", "Hugging Face, ms", ".1f"),
        ("Hugging Face / MAX", "Hugging Face / MAX", ".2f"),
        ("MAX, of the peak", "MAX, share of the peak", ".0%"),
        ("Hugging Face, of the peak", "Hugging Face, share of the peak", ".0%"),
    ),
    "generation": _columns(
        ("tokens", "what", ""),
        ("MAX, tokens/s", "MAX, tokens/s", ".1f"),
        ("MAX without cache, tokens/s", "MAX without cache, tokens/s", ".1f"),
        ("Hugging Face, tokens/s", "Hugging Face, tokens/s", ".1f"),
        ("Hugging Face / MAX", "Hugging Face / MAX", ".2f"),
        ("MAX, of one matrix's rate", "MAX, share of the bandwidth", ".0%"),
        ("Hugging Face, of one matrix's rate", "Hugging Face, share of the bandwidth", ".0%"),
    ),
    "memory": _columns(
        ("most memory in a process", "what", ""),
        ("MAX, MB", "MAX, MB", ","),
        ("Hugging Face, MB", "Hugging Face, MB", ","),
    ),
    "first": _columns(("from starting Python to the first logits", "what", ""), ("seconds", "figure", ".1f")),
    "peak": _columns(("a large product, and reading a large matrix", "what", ""), ("reached", "figure", ".0f")),
    "gpu": _columns(
        ("on the GPU", "part", ""),
        ("numbers", "dtype", ""),
        ("tokens", "length", ""),
        ("MAX, ms", "MAX, ms", ".2f"),
        ("Hugging Face, ms", "Hugging Face, ms", ".2f"),
        ("Hugging Face / MAX", "Hugging Face / MAX", ".2f"),
    ),
}


def tables(result: Result) -> dict[str, str]:
    """Return a Markdown table for every part that was measured."""
    found = {}
    for part, columns in COLUMNS.items():
        measured = result.get(part)
        if isinstance(measured, dict):  # figures by name, one or several
            rows = [
                {"what": name.removesuffix(", s")} | (value if isinstance(value, dict) else {"figure": value})
                for name, value in measured.items()
            ]
        elif isinstance(measured, list):
            rows = measured
            if part == "generation":
                rows = [row | {"what": f"{row['new tokens']} after {row['prompt']}"} for row in rows]
        else:
            continue
        found[part] = table([column for column in columns if any(column.key in row for row in rows)], rows)
    return found


def as_markdown(result: Result) -> str:
    """Return the figures as tables, one for each part."""
    return "\n\n".join(tables(result).values())


def run(model: Path | None, parts: Sequence[str], rounds: int, plan: Plan, cold: bool, out: Path | None) -> None:
    """Compare, time, and print tables; the arguments are those of :func:`measure`, and maybe a checkpoint."""
    with checkpoint(model) as folder:
        result = measure(folder, parts, rounds, plan, cold)
    finish(as_markdown(result), result, out)
