"""Time this course's models beside Hugging Face's, and a Llama beside llama.cpp: the same weights, in turns.

Outputs are compared with those of Hugging Face's model in float32, and a way that computes something else is not timed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from checker.errors import UserError
from checker.numeric.tolerance import TF32_TOLERANCE
from play.smollm2 import SMOLLM2, smollm2
from tools.benchmarks.harness import Column, Result, Row, conditions, finish, median, say, table
from tools.benchmarks.random_weights import random_checkpoint
from tools.benchmarks.turns import COURSE, HUGGING_FACE, LLAMA_CPP, Answer, Way, compare, reference
from tools.benchmarks.workers import BFLOAT16, FORWARD, GPU, GPU_AGAIN, KERNELS, TEXT, Workload

MOST_TOKENS = 1024  # of all sequences of a prompt together: their logits fill 206 MB
REFERENCE = Way("Hugging Face, sdpa", HUGGING_FACE)

WAYS = (
    Way("this course", COURSE),
    Way("this course, with kernels", COURSE, how=KERNELS),
    REFERENCE,
    Way("this course, bfloat16", COURSE, BFLOAT16, KERNELS, tolerance=0.05),
    Way("this course, Q4_0", COURSE, "Q4_0", tolerance=0.2),
)
GPU_WAYS = (
    Way("this course, a new cache", COURSE, how=GPU, tolerance=TF32_TOLERANCE),
    Way("this course, a used cache", COURSE, how=GPU_AGAIN, tolerance=TF32_TOLERANCE),
    Way("Hugging Face, float32", HUGGING_FACE, how=GPU, tolerance=TF32_TOLERANCE),
    Way("Hugging Face, bfloat16", HUGGING_FACE, BFLOAT16, GPU, tolerance=0.05),
)
LLAMA_WAYS = (*WAYS[:3], Way("llama.cpp, 4 bits", LLAMA_CPP, "Q4_1", tolerance=0.02))
HEADS = {  # of the table of each part, and how its figures are printed
    "forward": ("milliseconds, by sequences x tokens", ".1f"),
    "generation": ("tokens per second, by sequences", ".1f"),
    "gpu": ("milliseconds", ".1f"),
    SMOLLM2: ("SmolLM2, milliseconds", ".1f"),
}
SINGLE = ("gpu", SMOLLM2)  # parts in which one text is written, and the time of each token is shown


@dataclass(frozen=True)
class Benchmark:
    """What is run.

    Args:
        lengths: tokens of a prompt whose forward pass is timed.
        prompts: tokens of a prompt after which text is written.
        llama_prompts: the same for SmolLM2.
        batches: how many sequences at once.
        new_tokens: how many tokens are written; the first is the prompt's, the others are timed.
        turn: seconds for which calls are repeated.
    """

    lengths: tuple[int, ...] = (1, 8, 64, 128, 512, 1024)
    prompts: tuple[int, ...] = (16, 512)
    llama_prompts: tuple[int, ...] = (256, 512)
    batches: tuple[int, ...] = (1, 8)
    new_tokens: int = 33
    turn: float = 0.3

    def workloads(self, part: str) -> list[Workload]:
        """Return what a part runs: forward passes that are not too large in all, or texts and their first tokens."""
        if part == "forward":
            shapes = [(batch, length) for batch in self.batches for length in self.lengths]
            return [Workload(FORWARD, *shape) for shape in shapes if math.prod(shape) <= MOST_TOKENS]
        batches = (1,) if part in SINGLE else self.batches
        prompts = self.llama_prompts if part == SMOLLM2 else self.prompts
        texts = [Workload(TEXT, batch, prompt, self.new_tokens) for batch in batches for prompt in prompts]
        return [replace(text, new_tokens=count) for text in texts for count in (1, self.new_tokens)]


QUICK = Benchmark(lengths=(8,), prompts=(8,), llama_prompts=(8,), batches=(2,), new_tokens=4, turn=0.01)  # one layer


def ways_of(part: str) -> Sequence[Way]:
    """Return what takes turns in a part."""
    return {"gpu": GPU_WAYS, SMOLLM2: LLAMA_WAYS}.get(part, WAYS)


def figures(part: str, answer: Answer) -> dict[str, float]:
    """Return what the table of a part shows of one process, by column."""
    seconds = answer.seconds
    if part == "forward":
        return {f"{work.batch} x {work.length}": 1000 * taken for work, taken in seconds.items()}
    shown: dict[str, float] = {}
    for text in (work for work in seconds if work.new_tokens > 1):
        first = seconds[replace(text, new_tokens=1)]
        later = (seconds[text] - first) / (text.new_tokens - 1)
        if part in SINGLE:
            times = {"first": 1000 * first, "later": 1000 * later}
            shown |= {f"{which} token after {text.length}": time for which, time in times.items()}
        else:
            shown[f"{text.batch}, after {text.length}"] = text.batch / later
    return shown if part in SINGLE else shown | {"most memory, MB": answer.bytes / 1e6}


def medians(part: str, answers: Mapping[Way, Sequence[Answer]]) -> dict[str, dict[str, float]]:
    """Return the medians over the rounds: by column, then by the title of a way."""
    shown: dict[str, dict[str, float]] = {}
    for way, some in answers.items():
        rounds = [figures(part, answer) for answer in some]
        for column in rounds[0]:
            shown.setdefault(column, {})[way.title] = median(row[column] for row in rounds)
    return shown


def tables(result: Result) -> str:
    """Return a table for each part: a row for each way, and its columns."""
    made = []
    for part, by_column in result["parts"].items():
        head, spec = HEADS[part]
        columns = [Column(head, "way"), *(Column(column, column, spec, rule="--:") for column in by_column)]
        rows: dict[str, Row] = {}
        for column, by_way in by_column.items():
            for way, figure in by_way.items():
                rows.setdefault(way, {"way": way})[column] = figure
        made.append(table(columns, rows.values()))
    return "\n\n".join(made)


def as_markdown(results: Mapping[str, Result]) -> str:
    """Return the tables of all machines, each below its name and the day."""
    return "\n\n".join(f"**{name}**, {result['date']}\n\n{tables(result)}" for name, result in results.items())


def run(parts: Sequence[str], quick: bool, rounds: int, out: Path | None) -> None:
    """Time the ways, print the tables of this machine, and put its figures beside those of others.

    Args:
        parts: some of ``HEADS``.
        quick: run a model of one layer in a few short cases instead of GPT-2 small; of SmolLM2, the cases are short.
        rounds: how often each way is timed.
        out: the file of figures, by processor or GPU; those of this one are replaced.

    Raises:
        UserError: a GPU is to be timed together with the processor, there is no checkpoint to begin from, or this
            course or Hugging Face's model cannot be run, or the two compute something else.
    """
    if "gpu" in parts and len(parts) > 1:
        raise UserError("figures of a GPU are filed under its name; run `./run bench --only gpu` by itself")
    benchmark, size = (QUICK, "one-layer") if quick else (Benchmark(), "gpt2")
    result = conditions(rounds) | {"parts": {}, "versions": {}, "failed": {}}
    for part in parts:
        say(part)
        checkpoint = smollm2(say) if part == SMOLLM2 else random_checkpoint(size)
        right = reference(REFERENCE, benchmark.workloads(part), checkpoint)
        answers, failed = compare(ways_of(part), right, checkpoint, rounds, benchmark.turn)
        result["parts"][part] = medians(part, answers)
        result["versions"] |= {way.library: some[0].version for way, some in answers.items()}
        result["failed"] |= failed
    if "gpu" in parts:
        if HUGGING_FACE not in result["versions"]:
            raise UserError(f"PyTorch must name the GPU, and cannot use one here: {result['failed']}")
        result["machine"] = result["versions"][HUGGING_FACE].rpartition(", ")[2]  # the GPU; MAX does not name it
    before = json.loads(out.read_text()) if out and out.is_file() else {}
    measured = {result["machine"]: result}
    not_timed = [f"{title} is not timed: {why}" for title, why in result["failed"].items()]
    finish("\n\n".join([as_markdown(measured), *not_timed]), before | measured, out)
