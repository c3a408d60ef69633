"""Compare libraries that take turns: only what computes the same is timed.

Each turn is a process of its own (``workers.py``): of two processes of one way, one may be slower by some percent for
as long as it lives.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from checker.errors import UserError
from checker.files import ROOT
from checker.numeric.tolerance import TOLERANCE
from tools.benchmarks.harness import say, take_turns
from tools.benchmarks.workers import DONE, JOB, OUTPUTS, SCORES, TEXT, Workload

COURSE, HUGGING_FACE, LLAMA_CPP = "course", "hugging_face", "llama_cpp"  # the libraries: modules of ``peers``
LONGEST_LOG = 3000  # characters of what a process said before it ended


@dataclass(frozen=True)
class Way:
    """One row of a table: a library, and how it runs workloads.

    Args:
        title: what tables and figures call it.
        library: the module in ``peers`` that runs it.
        dtype: what its weights are kept in, as its users call it.
        how: the ``how`` of its workloads.
        tolerance: the largest difference from the reference's output that its numbers explain.
    """

    title: str
    library: str
    dtype: str = "float32"
    how: str = ""
    tolerance: float = TOLERANCE


@dataclass(frozen=True)
class Answer:
    """What a process left: the numbers and the seconds of each workload, the most memory in bytes, and its version."""

    outputs: dict[Workload, np.ndarray]
    seconds: dict[Workload, float]
    bytes: int
    version: str


Answers = dict[Way, list[Answer]]  # one for each round


def ask(way: Way, workloads: Sequence[Workload], checkpoint: Path, turn: float = 0.0) -> Answer:
    """Return what a new process of a way leaves; each workload is timed for a turn.

    Raises:
        UserError: it failed; the message quotes its last words.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, run = Path(name), [asdict(replace(work, how=way.how, dtype=way.dtype)) for work in workloads]
        (folder / JOB).write_text(json.dumps({"checkpoint": str(checkpoint), "workloads": run, "turn": turn}))
        line = [sys.executable, "-m", f"tools.benchmarks.peers.{way.library}", name]
        ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise UserError(f"it could not be run: {ended.stderr.strip()[-LONGEST_LOG:]}")
        done = json.loads((folder / DONE).read_text())
        with np.load(folder / OUTPUTS) as outputs:
            arrays = dict(zip(workloads, outputs.values(), strict=True))
    return Answer(arrays, dict(zip(workloads, done["seconds"], strict=True)), done["bytes"], done["version"])


def reference(way: Way, workloads: Sequence[Workload], checkpoint: Path) -> dict[Workload, np.ndarray]:
    """Return what is right: the logits of each prompt, and those by which each token of a text is chosen.

    Raises:
        UserError: the way, which is the reference, failed.
    """
    scored = [replace(work, part=SCORES) if work.part == TEXT else work for work in workloads]
    return dict(zip(workloads, ask(way, scored, checkpoint).outputs.values(), strict=True))


def compare(
    ways: Sequence[Way], right: dict[Workload, np.ndarray], checkpoint: Path, rounds: int, turn: float
) -> tuple[Answers, dict[str, str]]:
    """Run workloads in some ways that take turns, a new process for each turn.

    Returns:
        The answers of the ways that were right in every round, and by the title of the others why they are left out.

    Raises:
        UserError: this course in float32 failed or computed something else, so there is nothing to compare.
    """
    failed: dict[str, str] = {}

    def answer(way: Way) -> Answer | None:
        if way.title in failed:
            return None
        try:
            given = ask(way, list(right), checkpoint, turn)
            refuse_another(way, given, right)
        except UserError as error:
            if way.library == COURSE and way.dtype == "float32":
                raise UserError(f"{way.title}: {error}") from error
            failed[way.title] = str(error)
            say(f"  {way.title} is not timed: {error}")
            return None
        say(f"  {way.title}: " + ", ".join(f"{work} {seconds:.4g} s" for work, seconds in given.seconds.items()))
        return given

    turns = take_turns(ways, rounds, answer)
    answers = {way: [each for each in some if each] for way, some in turns.items() if way.title not in failed}
    return answers, failed


def refuse_another(way: Way, given: Answer, right: dict[Workload, np.ndarray]) -> None:
    """Refuse an answer with other outputs than the right ones.

    Raises:
        UserError: they have another shape, or differ by more than the way's numbers explain.
    """
    for work, expected in right.items():
        actual = given.outputs[work]
        if actual.shape != (shape := expected.shape[: actual.ndim]):
            raise UserError(f"{work}: the output has the shape {actual.shape} instead of {shape}")
        if not (far := difference(actual, expected)) <= way.tolerance:  # nor NaN
            raise UserError(f"{work}: it differs by {far:.1e}; {way.tolerance:.0e} is allowed")


def log_probabilities(logits: np.ndarray) -> np.ndarray:  # [..., vocab] -> [..., vocab]
    """Return the logarithm of softmax: all that a model says, and the same for logits that differ by a constant."""
    moved = logits - logits.max(axis=-1, keepdims=True)
    return moved - np.log(np.exp(moved).sum(axis=-1, keepdims=True))


def difference(actual: np.ndarray, expected: np.ndarray) -> float:
    """Return how far an output is from the right one, as a share of the logits' spread.

    Of logits that is the largest difference. Of texts it is half of how much less likely the first token is that
    differs: of two tokens, one may be too high and the other too low. From there on the texts have nothing to do with
    each other.

    Args:
        actual: the logits of the last token [batch, vocab]; of a text, its tokens [batch, new].
        expected: the right logits; of a text, those of each new token after its own text [batch, new, vocab].
    """
    expected = log_probabilities(expected)
    if expected.ndim == 2:
        return float(np.abs(log_probabilities(actual) - expected).max() / np.ptp(expected))
    tokens, rows = actual.astype(int), np.arange(len(actual))
    first = (tokens != expected.argmax(axis=-1)).argmax(axis=-1)  # the first that differs, or 0
    behind = expected.max(axis=-1)[rows, first] - expected[rows, first, tokens[rows, first]]
    return float(behind.max() / 2 / np.ptp(expected))
