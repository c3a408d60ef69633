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
import psutil

from tools.benchmarks import harness, preparing
from tools.benchmarks.comparison import COURSE, HUGGING_FACE, Comparison, peak_of
from tools.benchmarks.harness import Result, Row, median, say
from tools.benchmarks.peers.catalog import REFERENCE, WAYS, Peer, command
from tools.benchmarks.peers.tables import PARTS, as_markdown
from tools.benchmarks.workers import FORWARD, SCORES, TEXT, Workload
from tools.environments import CannotPrepare

MOST_TOKENS = 1024  # of all sequences of a prompt together: their logits fill 206 MB
MEMORY_TOKENS = 4


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


QUICK = Plan(lengths=(8,), prompts=(8,), batches=(2,), new_tokens=4, turn=0.01)  # of a model of one layer

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
    for work in plan.forwards():
        row = head(work)
        times, failed = compare.run(work, ways)
        milliseconds = {title: median(1000 * time for time in some) for title, some in times.items()}
        yield row | {"ms": milliseconds, "failed": failed}


def generation(compare: Comparison, ways: Sequence[Peer], plan: Plan) -> Iterator[Row]:
    """Time greedy text after a prompt: the later tokens, without the first, whose time is the prompt's."""
    for work in plan.texts():
        row, later = head(work), work.batch * (work.new_tokens - 1)
        expected, _ = compare.output(REFERENCE, replace(work, part=SCORES))

        def rate(time: Callable[[Workload], float], work: Workload = work, later: int = later) -> float:
            return later / (time(work) - time(replace(work, new_tokens=1)))

        rates, failed = compare.run(work, ways, rate, expected)
        yield row | {"tokens/s": {title: median(some, 1) for title, some in rates.items()}, "failed": failed}


def memory(compare: Comparison, ways: Sequence[Peer], plan: Plan) -> Iterator[Row]:
    """Measure the most memory resident in a fresh process that writes a few tokens after a prompt; once is enough."""
    work = Workload(TEXT, length=max(plan.prompts), new_tokens=MEMORY_TOKENS)
    row: Row = {"batch": 1, "length": work.length, "rounds": 1, "MB": {}, "failed": {}}
    for way in ways:
        try:
            row["MB"][way.title] = round(peak_of(compare.commands[way.library], way.of(work)) / 1e6)
        except RuntimeError as error:
            row["failed"][way.title] = str(error)
    yield row


def head(work: Workload) -> Row:
    """Return a row without figures: the sizes, and how many cores other work takes in the second before."""
    busy = psutil.cpu_percent(interval=1) / 100 * (psutil.cpu_count() or 1)
    return {"batch": work.batch, "length": work.length, "busy": round(busy, 2)}


MEASURED: dict[str, Callable[[Comparison, Sequence[Peer], Plan], Iterator[Row]]] = {
    part.__name__: part for part in (forward, generation, memory)
}

# ---------------------------------------------------------------- the whole


def ready(peers: Sequence[str], checkpoint: Path) -> tuple[list[Peer], dict[str, str]]:
    """Make the environments of some peers and the models in their formats, where they are missing.

    Returns:
        The ways that can run, and by the title of any other way why it cannot.
    """
    ways, failed = [way for way in WAYS if way.library in peers], dict[str, str]()
    for way in ways:
        try:
            if way.library not in (COURSE, HUGGING_FACE):
                preparing.make_environment(way.library)
            preparing.add_format(checkpoint, way.format)
        except CannotPrepare as error:
            failed[way.title] = str(error)
            say(f"  {way.title} is left out: {error}")
    return [way for way in ways if way.title not in failed], failed


def run(parts: Sequence[str], peers: Sequence[str], quick: bool, rounds: int, out: Path | None) -> None:
    """Time some peers, print the tables of this processor, and put its figures beside those of others.

    Args:
        parts: some of ``MEASURED``.
        peers: some of ``PEERS``.
        quick: run a model of one layer in a few short cases instead of GPT-2 small.
        rounds: how often each way is timed.
        out: the file of figures, by processor; what was measured before is replaced.

    Raises:
        CannotPrepare: the checkpoint is missing, from which all else is made.
        WrongOutput: this course computes something else than Hugging Face's model.
        RuntimeError: this course, or Hugging Face's model, cannot be run.
    """
    plan, checkpoint = QUICK if quick else Plan(), preparing.checkpoint_of("models-quick" if quick else "models")
    ways, failed = ready(peers, checkpoint)
    result: Result = harness.conditions(rounds) | {"parts": {}}
    libraries = dict.fromkeys([REFERENCE.library, *(way.library for way in ways)])
    commands = {library: command(library, checkpoint) for library in libraries}
    with closing(Comparison(commands, REFERENCE, rounds, plan.turn, difference)) as comparison:
        result["versions"] = comparison.versions
        for part in parts:
            rows = {f"{row['batch']} x {row['length']}": row for row in MEASURED[part](comparison, ways, plan)}
            result["parts"][part] = rows
    for part, rows in result["parts"].items():
        for row in rows.values():
            row["rounds"] = row.get("rounds", rounds)
            row["failed"] |= failed | comparison.wrong  # some were wrong only after other workloads had been timed
            row[PARTS[part].unit] |= dict.fromkeys(row["failed"])
    harness.finish_on_this_processor(as_markdown, result, out)
