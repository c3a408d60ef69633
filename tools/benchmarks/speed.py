"""Time this course's model beside Hugging Face's: the same weights, the same input, the same cores.

``python -m tools.benchmarks.speed [--only attention,forward,generation] [--rounds 5] [--quick] [--cold] [--out FILE]``

Outputs are compared before anything is timed, and a wrong one ends the run. Each side runs in a process of its
own (``tools/benchmarks/backends.py``), which stays alive and waits while it is the other's turn. In every round each way
has a turn, in an order that reverses from round to round, so that a machine that slows down slows all of them.
A figure is the median over the rounds; a ratio is the median of the rounds' own ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from checker.course.paths import ROOT
from checker.numeric.tolerance import close
from solutions.solution_01 import GPT2Config
from tools.benchmarks.backends import PRODUCT, READING, Case, as_request
from tools.book_maker.values.arithmetic import decode_bytes, token_flops

MAX, HUGGING_FACE, EAGER, COMPILED = "MAX", "Hugging Face", "eager", "torch.compile"
NO_CACHE = "MAX without cache"
PARTS = ("peak", "attention", "forward", "generation", "memory", "first", "growth", "gpu")
LONGEST_LOG = 3000  # characters of what a side said before it ended

Row = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What is run, and for how long."""

    attention_batches: tuple[int, ...] = (1, 8)
    lengths: tuple[int, ...] = (1, 8, 64, 128, 512, 1024)
    prompts: tuple[int, ...] = (16, 512)
    new_tokens: int = 128
    growth_lengths: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
    growth_batches: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    growth_length: int = 64  # of the sequences in every batch
    seconds_a_turn: float = 0.15  # calls are repeated for this long, far above the clock's own uncertainty
    parts: tuple[str, ...] = PARTS


QUICK = Plan(
    attention_batches=(1,),
    lengths=(8, 64),
    prompts=(16,),
    new_tokens=8,
    growth_lengths=(8, 64),
    growth_batches=(1, 2),
    seconds_a_turn=0.03,
    parts=("peak", "attention", "forward", "generation"),
)


class WrongOutput(Exception):
    """The two sides do not compute the same, so there is nothing to compare."""


class Worker:
    """One side, alive in a process of its own, idle until it is asked."""

    def __init__(self, side: str, folder: Path, log: Path) -> None:
        self.side, self.log = side, log
        with log.open("w") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tools.benchmarks.backends", side, str(folder)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )

    def ask(self, do: str, case: Case | None = None, **more: Any) -> dict[str, Any]:
        """The answer to a request.

        Raises:
            RuntimeError: the side could not do it, or is gone; what it said last is quoted.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            print(as_request(do, case, **more), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RuntimeError(f"the process of {self.side} has ended; it said: {self.log.read_text()[-LONGEST_LOG:]}")
        said: dict[str, Any] = json.loads(line)
        if "error" in said:
            raise RuntimeError(f"{case or do} failed: {said['error']}")
        return said

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def check_output(case: Case, actual: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """The largest difference between two outputs of one case, in units of the largest number there is.

    Of a text the first array is its tokens and the second the logits that they were chosen by. A token may differ
    from Hugging Face's only where the logits of both are equal within the tolerance; texts are compared up to there.

    Raises:
        WrongOutput: the difference is more than float32 sums in another order make (``checker/numeric/tolerance.py``).
    """
    if case.part == "text":
        (tokens, logits), (their_tokens, their_logits) = actual, expected
        differ = (tokens != their_tokens).any(axis=0)
        same = int(differ.argmax()) + 1 if differ.any() else tokens.shape[-1]
        actual, expected = [logits[:, :same]], [their_logits[:, :same]]
        if differ.any():  # what each chose, by Hugging Face's logits
            last = their_logits[:, same - 1]
            chosen = [np.take_along_axis(last, ids[:, same - 1, None], axis=-1) for ids in (tokens, their_tokens)]
            actual, expected = [*actual, chosen[0]], [*expected, chosen[1]]
    largest = 0.0
    for ours, theirs in zip(actual, expected, strict=True):
        if ours.shape != theirs.shape:
            raise WrongOutput(f"{case} has the shape {ours.shape}, and Hugging Face's output {theirs.shape}")
        size = float(np.abs(theirs).max(initial=1.0))
        difference = float(np.abs(ours - theirs).max()) / size
        largest = max(largest, difference)
        more = {"tolerance": 0.03} if case.dtype == "bfloat16" else {}  # 8 bits a number, over a sum of many
        if not close(ours, theirs, **more):
            raise WrongOutput(
                f"{case} differs from Hugging Face by up to {difference:.1e} of its largest number: one of the two is "
                "wrong, and nothing was timed. `./run test` says whether a solution is."
            )
    return largest


class Comparison:
    """Both sides, and the rounds in which they take turns."""

    def __init__(self, folder: Path, scratch: Path, rounds: int, plan: Plan, theirs: Path | None = None) -> None:
        self.scratch, self.rounds, self.plan = scratch, rounds, plan
        self.ours = Worker("max", folder, scratch / "max.log")
        self.theirs = Worker("huggingface", theirs or folder, scratch / "huggingface.log")
        self.failed: dict[str, str] = {}  # way -> why it cannot be timed here

    def close(self) -> None:
        """End both processes."""
        self.ours.close()
        self.theirs.close()

    def side(self, case: Case) -> Worker:
        """The side that a way belongs to."""
        return self.ours if case.way.startswith(MAX) else self.theirs

    def output(self, case: Case) -> tuple[list[np.ndarray], float]:
        """What a case returns, and how long it takes about."""
        file = self.scratch / "output.npz"
        seconds = self.side(case).ask("output", case, file=str(file))["seconds"]
        with np.load(file) as arrays:
            return [arrays[name] for name in arrays.files], seconds

    def run(self, case: Case, *ways: str) -> tuple[dict[str, list[float]], float]:
        """Seconds a call of every way, one figure a round, and the largest difference from Hugging Face's output.

        Raises:
            WrongOutput: one of them computes something else.
        """
        wanted, seconds = self.output(replace(case, way=HUGGING_FACE))
        about, largest = {HUGGING_FACE: seconds}, 0.0
        for way in ways:
            if way == HUGGING_FACE or way in self.failed:
                continue
            this = replace(case, way=way)
            try:
                actual, about[way] = self.output(this)
            except RuntimeError as error:
                if way != COMPILED:  # the one that needs a C++ compiler; the comparison stands without it
                    raise
                self.failed[way] = str(error)
                continue
            largest = max(largest, check_output(this, actual, wanted))
        calls = {way: max(1, round(self.plan.seconds_a_turn / about[way])) for way in ways if way in about}
        times: dict[str, list[float]] = {way: [] for way in calls}
        for turn in range(self.rounds):
            for way in list(calls) if turn % 2 == 0 else reversed(calls):
                this = replace(case, way=way)
                times[way].append(self.side(this).ask("time", this, calls=calls[way])["seconds"])
        say(
            "  " + str(case).split(" by ")[0] + ": " + ", ".join(f"{way} {_ms(some)} ms" for way, some in times.items())
        )
        return times, largest

    def forget(self) -> None:
        """Give the memory of all cases back."""
        self.ours.ask("forget")
        self.theirs.ask("forget")


def say(line: str) -> None:
    """Progress, beside the result."""
    print(line, file=sys.stderr, flush=True)


def _ms(times: Sequence[float]) -> float:
    return round(1000 * statistics.median(times), 3)


def _ratio(one: Sequence[float], other: Sequence[float]) -> float:
    return round(statistics.median(a / b for a, b in zip(one, other, strict=True)), 2)


def as_row(times: dict[str, list[float]], largest: float, **sizes: Any) -> Row:
    """Milliseconds of every way, how many times longer than MAX the others take, and the largest difference."""
    row: Row = dict(sizes)
    row |= {f"{way}, ms": _ms(some) for way, some in times.items()}
    row |= {f"{way} / {MAX}": _ratio(some, times[MAX]) for way, some in times.items() if way != MAX}
    return row | {"largest difference": float(f"{largest:.1e}")}


def peak(compare: Comparison) -> Row:
    """What the machine can do, by what the two libraries reach: a large product, and reading a large matrix."""
    product, _ = compare.run(Case("product", ""), MAX, HUGGING_FACE)
    reading, _ = compare.run(Case("reading", ""), MAX, HUGGING_FACE)
    compare.forget()
    flops, size = 2 * PRODUCT**3, 4 * READING[0] * READING[1]
    row: Row = {f"{way}, GFLOP/s": round(flops / statistics.median(some) / 1e9, 1) for way, some in product.items()}
    row |= {f"{way}, GB/s": round(size / statistics.median(some) / 1e9, 1) for way, some in reading.items()}
    return row


def attention(compare: Comparison) -> list[Row]:
    """The attention module alone."""
    rows = []
    for batch in compare.plan.attention_batches:
        for length in compare.plan.lengths:
            case = Case("attention", "", batch, length)
            rows.append(as_row(*compare.run(case, MAX, HUGGING_FACE, EAGER, COMPILED), batch=batch, length=length))
            compare.forget()
    return rows


def forward(compare: Comparison) -> list[Row]:
    """The whole model, the logits of all tokens."""
    rows = []
    for length in compare.plan.lengths:
        rows.append(as_row(*compare.run(Case("forward", "", 1, length), MAX, HUGGING_FACE), length=length))
        compare.forget()
    return rows


def forward_flops(config: GPT2Config, length: int) -> int:
    """Floating-point operations that the logits of a text need, each token looking at those up to itself alone."""
    return sum(token_flops(config, context) for context in range(1, length + 1))


def generation(compare: Comparison) -> list[Row]:
    """Greedy text after a prompt; the time to the first token is the prompt's, the rest is the later tokens'."""
    rows, new = [], compare.plan.new_tokens
    for prompt in compare.plan.prompts:
        case = Case("text", "", 1, prompt, new)
        first, _ = compare.run(replace(case, new_tokens=1), MAX, HUGGING_FACE)
        whole, largest = compare.run(case, MAX, HUGGING_FACE)
        # Without a cache a token costs a forward pass of all before it: three of them, and Simpson's rule between.
        ends = [compare.run(Case("token", "", 1, prompt + at), NO_CACHE)[0] for at in (0, new // 2, new - 1)]
        one, middle, last = (statistics.median(times[NO_CACHE]) for times in ends)
        row: Row = {"prompt": prompt, "new tokens": new}
        for way, times in whole.items():
            row[f"{way}, tokens/s"] = round(new / statistics.median(times), 2)
            later = [(a - b) / (new - 1) for a, b in zip(times, first[way], strict=True)]
            row[f"{way}, ms to the first token"] = _ms(first[way])
            row[f"{way}, ms a later token"] = _ms(later)
        row[f"{NO_CACHE}, tokens/s"] = round(6 / (one + 4 * middle + last), 2)
        row[f"{HUGGING_FACE} / {MAX}"] = _ratio(whole[HUGGING_FACE], whole[MAX])
        rows.append(row | {"largest difference": float(f"{largest:.1e}")})
        compare.forget()
    return rows


def once(side: str, folder: Path, case: Case, **environment: str) -> tuple[float, int]:
    """Seconds from starting a fresh process to its first result, and the most memory it had, in bytes.

    Raises:
        RuntimeError: it ended without a result; what it said last is quoted.
    """
    command = [sys.executable, "-m", "tools.benchmarks.backends", side, str(folder), "--once", json.dumps(asdict(case))]
    with tempfile.TemporaryFile("w+") as said:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | environment, stdout=subprocess.PIPE, stderr=said, text=True
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        seconds = time.perf_counter() - start
        process.communicate()
        said.seek(0)
        if not line:
            raise RuntimeError(f"{case} failed in a fresh process; it said: {said.read()[-LONGEST_LOG:]}")
    return seconds, json.loads(line)["peak"]


SIDES = {MAX: "max", HUGGING_FACE: "huggingface"}


def memory(folder: Path, plan: Plan) -> Row:
    """The most memory resident in a fresh process that loads the checkpoint and runs one case, in megabytes."""
    cases = {
        f"forward of {max(plan.lengths)} tokens": Case("forward", "", 1, max(plan.lengths)),
        f"{plan.new_tokens} tokens after {min(plan.prompts)}": Case("text", "", 1, min(plan.prompts), plan.new_tokens),
    }
    found: Row = {}
    for name, case in cases.items():
        found[name] = {f"{way}, MB": round(once(side, folder, case)[1] / 1e6) for way, side in SIDES.items()}
        say(f"  {name}: {found[name]}")
    return found


def first(folder: Path, rounds: int, cold: bool) -> Row:
    """Seconds from starting Python to the logits of 8 tokens: imports, weights, compiling, and the forward pass."""
    times: dict[str, list[float]] = {way: [] for way in SIDES}
    case = Case("forward", "", 1, 8)
    for _ in range(min(rounds, 3)):
        for way, side in SIDES.items():
            times[way].append(once(side, folder, case)[0])
    row: Row = {f"{way}, s": round(statistics.median(some), 2) for way, some in times.items()}
    if cold:
        with tempfile.TemporaryDirectory() as empty:
            row[f"{MAX} with an empty cache, s"] = round(once("max", folder, case, XDG_CACHE_HOME=empty)[0], 1)
    say(f"  first result: {row}")
    return row


def growth(compare: Comparison) -> list[Row]:
    """How the time of attention grows with the length, and with the batch."""
    rows: list[Row] = []
    plan = compare.plan
    shapes = [(1, length) for length in plan.growth_lengths]
    for batch, length in [*shapes, *((batch, plan.growth_length) for batch in plan.growth_batches)]:
        if any((row["batch"], row["length"]) == (batch, length) for row in rows):
            continue
        case = Case("attention", "", batch, length)
        rows.append(as_row(*compare.run(case, MAX, HUGGING_FACE), batch=batch, length=length))
        compare.forget()
    return rows


def gpu(compare: Comparison) -> list[Row]:
    """Attention and the whole model on the GPU, in both precisions, where both libraries can use one."""
    rows = []
    for dtype in ("float32", "bfloat16"):
        for part in ("attention", "forward"):
            for length in compare.plan.lengths:
                case = Case(part, "", 1, length, device="gpu", dtype=dtype)
                times, largest = compare.run(case, MAX, HUGGING_FACE)
                rows.append(as_row(times, largest, part=part, dtype=dtype, length=length))
                compare.forget()
    return rows


def processor() -> str:
    """The processor's name, as far as the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


@contextmanager
def checkpoint(given: Path | None) -> Iterator[Path]:
    """The folder that both sides load: the one given, or GPT-2 small with seeded weights, for as long as this is open.

    Raises:
        RuntimeError: it could not be made.
    """
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as name:
        say("seeded weights for GPT-2 small")
        command = [sys.executable, "-m", "tools.benchmarks.backends", "checkpoint", name]
        made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if made.returncode:
            raise RuntimeError(
                "the checkpoint could not be made; are torch and transformers there? `./run bench` installs them. "
                + made.stderr[-LONGEST_LOG:]
            )
        yield Path(name)


def measure(folder: Path, parts: Sequence[str], rounds: int, plan: Plan, cold: bool = False) -> dict[str, Any]:
    """All figures of some parts.

    Raises:
        WrongOutput: the two sides do not compute the same.
        RuntimeError: one of them could not run something.
    """
    load = os.getloadavg()[0]
    cores = psutil.cpu_count(logical=False) or 1
    result: dict[str, Any] = {
        "machine": f"{processor()}, {platform.machine()}, {cores} cores, Python {platform.python_version()}",
        "load": round(load, 2),
        "rounds": rounds,
    }
    if load > 0.5:
        say(f"the load is {load:.1f} on {cores} cores: other work will be part of the figures")
    with tempfile.TemporaryDirectory() as scratch:
        compare = Comparison(folder, Path(scratch), rounds, plan)
        try:
            ours, theirs = compare.ours.ask("about"), compare.theirs.ask("about")
            result["versions"] = f"{ours['version']}, {theirs['version']}"
            result["threads"] = {MAX: f"its own choice, on {cores} cores", HUGGING_FACE: theirs["threads"]}
            by_name: dict[str, Callable[[Comparison], Any]] = {
                "peak": peak,
                "attention": attention,
                "forward": forward,
                "generation": generation,
                "growth": growth,
            }
            for part in (part for part in by_name if part in parts):
                say(part)
                result[part] = by_name[part](compare)
            if "gpu" in parts and "gpu" in ours["devices"]:
                say("gpu")
                both = "gpu" in theirs["devices"]
                result["gpu"] = gpu(compare) if both else "MAX can use this machine's GPU; this torch cannot"
            if compare.failed:
                result["not timed"] = compare.failed
        finally:
            compare.close()
    if "memory" in parts:
        say("memory")
        result["memory"] = memory(folder, plan)
    if "first" in parts:
        say("first")
        result["first"] = first(folder, rounds, cold)
    if "peak" in result:
        add_shares(result, read_sizes(folder))
    result["load afterwards"] = round(os.getloadavg()[0], 2)
    return result


def read_sizes(folder: Path) -> GPT2Config:
    """The sizes of a checkpoint; read here without MAX, which would make this process large."""
    values = json.loads((folder / "config.json").read_text())
    names = ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head", "n_inner")
    return GPT2Config(**{name: values[name] for name in names if name in values})


def add_shares(result: dict[str, Any], config: GPT2Config) -> None:
    """Add what share of the machine's peak each forward pass reaches, and of its bandwidth each later token."""
    flops = max(value for name, value in result["peak"].items() if name.endswith("GFLOP/s")) * 1e9
    bandwidth = max(value for name, value in result["peak"].items() if name.endswith("GB/s")) * 1e9
    for way in (MAX, HUGGING_FACE):
        for row in result.get("forward", []):
            seconds = row[f"{way}, ms"] / 1000
            row[f"{way}, share of the peak"] = round(forward_flops(config, row["length"]) / seconds / flops, 3)
        for row in result.get("generation", []):
            seconds = row[f"{way}, ms a later token"] / 1000
            read = decode_bytes(config, row["prompt"] + row["new tokens"] // 2)
            row[f"{way}, share of the bandwidth"] = round(read / seconds / bandwidth, 3)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _cells(row: Row, *names: str, spec: str) -> list[str]:
    return [format(row[name], spec) if name in row else "" for name in names]


def _percent(row: Row, name: str) -> str:
    return f"{100 * row[name]:.0f} %" if name in row else ""


def tables(result: dict[str, Any]) -> dict[str, str]:
    """A Markdown table for every part that was measured."""
    found: dict[str, str] = {}
    rows: list[list[str]]
    ways = (MAX, HUGGING_FACE, EAGER, COMPILED)
    if "attention" in result:
        there = [way for way in ways if f"{way}, ms" in result["attention"][0]]
        rows = [
            [
                str(row["batch"]),
                str(row["length"]),
                *_cells(row, *(f"{way}, ms" for way in there), spec=".2f"),
                *_cells(row, f"{HUGGING_FACE} / {MAX}", spec=".2f"),
            ]
            for row in result["attention"]
        ]
        names = {HUGGING_FACE: "Hugging Face, sdpa", EAGER: "Hugging Face, eager", COMPILED: "sdpa, torch.compile"}
        head = ["batch", "tokens", *(f"{names.get(way, way)}, ms" for way in there), "sdpa / MAX"]
        found["attention"] = table(head, rows)
    if "forward" in result:
        rows = [
            [
                str(row["length"]),
                *_cells(row, f"{MAX}, ms", f"{HUGGING_FACE}, ms", spec=".1f"),
                *_cells(row, f"{HUGGING_FACE} / {MAX}", spec=".2f"),
                *(_percent(row, f"{way}, share of the peak") for way in (MAX, HUGGING_FACE)),
            ]
            for row in result["forward"]
        ]
        head = [
            "tokens",
            "MAX, ms",
            "Hugging Face, ms",
            "Hugging Face / MAX",
            "MAX, of the peak",
            "Hugging Face, of it",
        ]
        found["forward"] = table(head, rows)
    if "generation" in result:
        there = [MAX, NO_CACHE, HUGGING_FACE]
        rows = [
            [
                f"{row['new tokens']} after {row['prompt']}",
                *_cells(row, *(f"{way}, tokens/s" for way in there), spec=".1f"),
                *_cells(row, f"{HUGGING_FACE} / {MAX}", spec=".2f"),
                *(_percent(row, f"{way}, share of the bandwidth") for way in (MAX, HUGGING_FACE)),
            ]
            for row in result["generation"]
        ]
        head = ["tokens", *(f"{way}, tokens/s" for way in there), "Hugging Face / MAX"]
        found["generation"] = table([*head, "MAX, of the bandwidth", "Hugging Face, of it"], rows)
    if "memory" in result:
        rows = [
            [name, *_cells(row, f"{MAX}, MB", f"{HUGGING_FACE}, MB", spec=",")]
            for name, row in result["memory"].items()
        ]
        found["memory"] = table(["most memory in a process", "MAX, MB", "Hugging Face, MB"], rows)
    if "first" in result:
        rows = [[name.removesuffix(", s"), f"{seconds:.1f}"] for name, seconds in result["first"].items()]
        found["first"] = table(["from starting Python to the first logits", "seconds"], rows)
    if "peak" in result:
        rows = [[what, f"{value:.0f}"] for what, value in result["peak"].items()]
        found["peak"] = table(["a large product, and reading a large matrix", "reached"], rows)
    if isinstance(result.get("gpu"), list):
        rows = [
            [
                row["part"],
                row["dtype"],
                str(row["length"]),
                *_cells(row, f"{MAX}, ms", f"{HUGGING_FACE}, ms", f"{HUGGING_FACE} / {MAX}", spec=".2f"),
            ]
            for row in result["gpu"]
        ]
        head = ["on the GPU", "numbers", "tokens", "MAX, ms", "Hugging Face, ms", "Hugging Face / MAX"]
        found["gpu"] = table(head, rows)
    return found


def as_markdown(result: dict[str, Any]) -> str:
    """The figures as tables, one a part."""
    return "\n\n".join(tables(result).values())


def main() -> None:
    """Compare, time, and print tables."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="PARTS", help=f"some of {','.join(PARTS)}; default: all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="few short cases, to see that all of it works")
    parser.add_argument(
        "--cold", action="store_true", help="also time MAX's first result with an empty cache (minutes)"
    )
    parser.add_argument("--model", type=Path, help="a checkpoint's folder instead of seeded weights")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    plan = QUICK if options.quick else Plan()
    parts = options.only.split(",") if options.only else plan.parts
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        parser.error(f"--only {','.join(unknown)}: there is no such part; there are {', '.join(PARTS)}")
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: at least 1 is needed for a figure")
    try:
        with checkpoint(options.model) as folder:
            result = measure(folder, parts, options.rounds, plan, options.cold)
    except (WrongOutput, RuntimeError) as error:
        sys.exit(f"bench: {error}")
    print(as_markdown(result))
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
