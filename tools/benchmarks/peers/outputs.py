"""Whether two libraries computed the same, as far as the precision of their weights goes."""

from __future__ import annotations

import numpy as np

from tools.benchmarks.backends import Workload
from tools.benchmarks.peers.catalog import Way


class DifferentOutput(Exception):
    """A way computes something else, so it is not timed."""


def log_probabilities(logits: np.ndarray) -> np.ndarray:  # [batch, seq, vocab] -> [batch, seq, vocab]
    """Return the logarithm of softmax: all that a model says, and the same for logits that differ by a constant."""
    moved = logits - logits.max(axis=-1, keepdims=True)
    return moved - np.log(np.exp(moved).sum(axis=-1, keepdims=True))


def compare(way: Way, workload: Workload, actual: np.ndarray, expected: np.ndarray) -> float:
    """Return by how much a way differs from Hugging Face's in float32, as a share of the spread of its logits.

    Args:
        way: what ran.
        workload: what it was asked for.
        actual: logits or log probabilities of all tokens of a prompt, or of its last; of a text, the tokens.
        expected: Hugging Face's log probabilities; of a text, those of each new token after its own text.

    Raises:
        DifferentOutput: by more than the way's precision explains. A token of a text may differ where both tokens are
            equally likely within that; from there on the texts have nothing to do with each other.
    """
    spread = float(expected.max() - expected.min())
    if workload.part == "text":
        if actual.shape != expected.shape[:2]:
            raise DifferentOutput(f"it wrote {actual.shape} tokens instead of {expected.shape[:2]}")
        likeliest = expected.argmax(axis=-1)
        largest = 0.0
        for row, wanted, told in zip(actual, likeliest, expected, strict=True):
            if (row != wanted).any():
                at = int((row != wanted).argmax())
                largest = max(largest, float(told[at].max() - told[at, row[at]]) / spread)
        allowed = 2 * way.tolerance  # of two tokens, one may be too high and the other too low
    else:
        expected = expected[:, -actual.shape[1] :]
        if actual.shape != expected.shape:
            raise DifferentOutput(f"its logits have the shape {actual.shape} instead of {expected.shape}")
        largest = float(np.abs(log_probabilities(actual) - expected).max()) / spread
        allowed = way.tolerance
    if not largest <= allowed:  # nor NaN
        raise DifferentOutput(f"it differs from Hugging Face by {largest:.1e} of the spread; {allowed:.0e} is allowed")
    return largest
