"""Time this course's model beside what a user would pick instead: the same weights and prompts, in turns.

Outputs are compared before anything is timed, and a library that computes something else is not timed at all. The
figures of every processor stay apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from checker.errors import UserError
from checker.numeric.tolerance import TF32_TOLERANCE
from tools.benchmarks import harness
from tools.benchmarks.comparison import Comparison, Way
from tools.benchmarks.harness import Row, median
from tools.benchmarks.peers.catalog import REFERENCE, WAYS, Peer
from tools.benchmarks.peers.tables import as_markdown
from tools.benchmarks.preparing import COURSE, HUGGING_FACE, checkpoint_of
from tools.benchmarks.workers import BFLOAT16, FORWARD, GPU, GPU_AGAIN, SCORES, TEXT, Workload

MOST_TOKENS = 1024  # of all sequences of a prompt together: their logits fill 206 MB
MEMORY_TOKENS = 4

GPU_WAYS = (
    Way("this course, a new cache", COURSE, how=GPU, tolerance=TF32_TOLERANCE),
    Way("this course, a used cache", COURSE, how=GPU_AGAIN, tolerance=TF32_TOLERANCE),
    Way("Hugging Face, float32", HUGGING_FACE, how=GPU, tolerance=TF32_TOLERANCE),
    Way("Hugging Face, bfloat16", HUGGING_FACE, BFLOAT16, GPU, tolerance=0.05),
)


@dataclass(frozen=True)
class Plan:
    """What is run.

    Args:
        lengths: tokens of a prompt whose forward pass is timed.
        prompts: tokens of a prompt after which text is written.
        batches: how many sequences at once.
        new_tokens: how many tokens are written; the first is the prompt's, the others are timed.
        turn: seconds for which calls are repeated.
    """

    lengths: tuple[int, ...] = (1, 8, 64, 128, 512, 1024)
    prompts: tuple[int, ...] = (16, 512)
    batches: tuple[int, ...] = (1, 8)
    new_tokens: int = 33
    turn: float = 0.3

    def forwards(self) -> list[Workload]:
        """Return the forward passes: all lengths, in each batch those that are not too large in all."""
        shapes = [(batch, length) for batch in self.batches for length in self.lengths]
        return [Workload(FORWARD, *shape) for shape in shapes if math.prod(shape) <= MOST_TOKENS]

    def texts(self) -> list[Workload]:
        """Return the texts to write."""
        return [Workload(TEXT, batch, prompt, self.new_tokens) for batch in self.batches for prompt in self.prompts]


QUICK = Plan(lengths=(8,), prompts=(8,), batches=(2,), new_tokens=4, turn=0.01)  # one layer

# ---------------------------------------------------------------- outputs


def log_probabilities(logits: np.ndarray) -> np.ndarray:  # [..., vocab] -> [..., vocab]
    """Return the logarithm of softmax: all that a model says, and the same for logits that differ by a constant."""
    moved = logits - logits.max(axis=-1, keepdims=True)
    return moved - np.log(np.exp(moved).sum(axis=-1, keepdims=True))


def difference(actual: np.ndarray, expected: np.ndarray) -> float:
    """Return how far an output is from that of Hugging Face's model in float32, as a share of the logits' spread.

    Of logits that is the largest difference. Of texts it is half of how much less likely the first token is that
    differs: of two tokens, one may be too high and the other too low. From there on the texts have nothing to do with
    each other.

    Args:
        actual: the logits, or log probabilities, of the last token [batch, vocab]; of a text, its tokens [batch, new].
        expected: Hugging Face's logits; of a text, those of each new token after its own text [batch, new, vocab].
    """
    expected = log_probabilities(expected)
    if expected.ndim == 2:
        return float(np.abs(log_probabilities(actual) - expected).max() / np.ptp(expected))
    tokens, rows = actual.astype(int), np.arange(len(actual))
    first = (tokens != expected.argmax(axis=-1)).argmax(axis=-1)  # the first that differs, or 0
    behind = expected.max(axis=-1)[rows, first] - expected[rows, first, tokens[rows, first]]
    return float(behind.max() / 2 / np.ptp(expected))


# ---------------------------------------------------------------- parts


def forward(compare: Comparison, ways: Sequence[Peer], plan: Plan) -> Iterator[Row]:
    """Time forward passes over a prompt."""
    for work, times in compare.run_anew(plan.forwards(), ways).items():
        milliseconds = {title: median(1000 * time for time in some) for title, some in times.items()}
        yield {"batch": work.batch, "length": work.length, "ms": milliseconds}


def generation(compare: Comparison, ways: Sequence[Peer], plan: Plan) -> Iterator[Row]:
    """Time greedy text after a prompt: the later tokens, without the first, whose time is the prompt's."""

    def rate(time: Callable[[Workload], float], work: Workload) -> float:
        return work.batch * (work.new_tokens - 1) / (time(work) - time(replace(work, new_tokens=1)))

    for work, times in compare.run_anew(plan.texts(), ways, rate, SCORES).items():
        rates = {title: median(some, 1) for title, some in times.items()}
        yield {"batch": work.batch, "length": work.length, "tokens/s": rates}


def memory(compare: Comparison, ways: Sequence[Peer], plan: Plan) -> Iterator[Row]:
    """Measure the most memory resident in a fresh process that writes a few tokens after a prompt; once is enough."""
    work = Workload(TEXT, length=max(plan.prompts), new_tokens=MEMORY_TOKENS)
    megabytes = {title: round(peak / 1e6) for title, peak in compare.peaks(work, ways).items()}
    yield {"batch": 1, "length": work.length, "MB": megabytes}


def gpu(compare: Comparison, ways: Sequence[Peer], plan: Plan) -> Iterator[Row]:
    """Time greedy text on a GPU, in ways of its own: the first token and each later one; print every row at once."""

    def later(time: Callable[[Workload], float], text: Workload) -> float:
        return (time(text) - time(replace(text, new_tokens=1))) / (text.new_tokens - 1)

    compare.output(GPU_WAYS[0], Workload(TEXT, length=1, new_tokens=1))  # which says so if there is no GPU
    print(f"| milliseconds | {' | '.join(way.title for way in GPU_WAYS)} |\n|---{'|--:' * len(GPU_WAYS)}|", flush=True)
    for length in plan.prompts:
        first, text = (Workload(TEXT, length=length, new_tokens=count) for count in (1, plan.new_tokens))
        row: Row = {"batch": 1, "length": length}
        for what, work, measure in (("first", first, None), ("later", text, later)):
            times = compare.run(work, GPU_WAYS, measure, SCORES)
            row[what] = {title: median((1000 * time for time in some), 2) for title, some in times.items()}
            cells = [format(row[what][way.title], ".2f") if way.title in row[what] else "" for way in GPU_WAYS]
            print(f"| {what} token after {length} | {' | '.join(cells)} |", flush=True)
        yield row


MEASURED: dict[str, Callable[[Comparison, Sequence[Peer], Plan], Iterator[Row]]] = {
    part.__name__: part for part in (forward, generation, memory, gpu)
}

# ---------------------------------------------------------------- the whole


def run(parts: Sequence[str], peers: Sequence[str], quick: bool, rounds: int, out: Path | None) -> None:
    """Time some peers, print the tables of this processor, and put its figures beside those of others.

    Args:
        parts: some of ``MEASURED``.
        peers: some of ``PEERS``.
        quick: run a model of one layer in a few short cases instead of GPT-2 small.
        rounds: how often each way is timed.
        out: the file of figures, by processor or GPU; what was measured before is replaced.

    Raises:
        UserError: a GPU is to be timed together with the processor, there is no checkpoint to begin from, or this
            course or Hugging Face's model cannot be run, or the two compute something else.
    """
    if "gpu" in parts and len(parts) > 1:
        raise UserError("figures of a GPU are filed under its name; run `./run bench --only gpu` by itself")
    plan, models = (QUICK, "models-quick") if quick else (Plan(), "models")
    checkpoint = checkpoint_of(models)
    ways, result = [way for way in WAYS if way.library in peers], harness.conditions(rounds) | {"parts": {}}
    with closing(Comparison(checkpoint, REFERENCE, rounds, plan.turn, difference)) as compare:
        for part in parts:
            rows = MEASURED[part](compare, ways, plan)
            result["parts"][part] = {f"{row['batch']} x {row['length']}": row for row in rows}
        result |= {"versions": compare.versions, "failed": compare.failed}
        if "gpu" in parts:
            result["machine"] = compare.versions[HUGGING_FACE].rpartition(", ")[2]  # the GPU; no other process names it
    harness.finish_on_this_processor(as_markdown, result, out)
