"""Plain gradient descent beside AdamW, on a model of one table: which letter follows which, in a text of *Moby Dick*.

The table has a row of logits for every letter, so a rare letter's row gets few gradients, like a rare token's in
``wte``.
"""

from functools import cache

import numpy as np

from checker.course.steps import SMALL_MODEL
from solutions.solution_20 import AdamW
from solutions.warmup_01 import softmax

STEPS, BATCH, EVERY = 200, 512, 5  # steps; letters of a batch; steps between two losses
RATES = {"descent": (3.0, 10.0, 20.0, 30.0, 50.0, 100.0), "AdamW": (0.01, 0.03, 0.1, 0.3, 1.0)}

TEXT = (SMALL_MODEL / "moby_dick.txt").read_text(encoding="utf-8")[:40_000]
LETTERS, IDS = np.unique(list(TEXT), return_inverse=True)
COUNTS = np.bincount(IDS[:-1], minlength=len(LETTERS))
#: Letters that make up the last tenth of the text, the rarest first.
RARE = np.argsort(COUNTS)[: int((np.sort(COUNTS).cumsum() <= len(TEXT) / 10).sum())]


def losses_of(table: np.ndarray) -> np.ndarray:  # [letter, letter] -> [seq - 1]
    """Return the loss of every letter of the text but the first."""
    return -np.log(softmax(table)[IDS[:-1], IDS[1:]])


@cache
def trained(way: str, rate: float) -> tuple[list[float], np.ndarray]:
    """Return the loss on the whole text after every few steps, and the table at the end."""
    rng, optimizer = np.random.default_rng(0), AdamW()
    table, m, v = np.zeros((3, len(LETTERS), len(LETTERS)))
    losses = [float(losses_of(table).mean())]
    for step in range(1, STEPS + 1):
        at = rng.integers(0, len(IDS) - 1, BATCH)
        grad = np.zeros_like(table)
        np.add.at(grad, IDS[at], (softmax(table[IDS[at]]) - np.eye(len(LETTERS))[IDS[at + 1]]) / BATCH)
        m = optimizer.beta1 * m + (1 - optimizer.beta1) * grad
        v = optimizer.beta2 * v + (1 - optimizer.beta2) * grad**2
        m_hat, v_hat = m / (1 - optimizer.beta1**step), v / (1 - optimizer.beta2**step)
        table = table - rate * (grad if way == "descent" else m_hat / (np.sqrt(v_hat) + optimizer.eps))
        if step % EVERY == 0:
            losses.append(float(losses_of(table).mean()))
    return losses, table


@cache
def best_rate(way: str) -> float:
    """Return the learning rate whose loss at the end is the lowest."""
    return min(RATES[way], key=lambda rate: trained(way, rate)[0][-1])


def best(way: str) -> list[float]:
    """Return the losses with the best learning rate."""
    return trained(way, best_rate(way))[0]


def crossing() -> int:
    """Return the step from which on AdamW's loss is lower than descent's, each at its best rate."""
    ahead = [adam < plain for plain, adam in zip(best("descent"), best("AdamW"), strict=True)]
    return EVERY * (max(at for at, is_ahead in enumerate(ahead) if not is_ahead) + 1)


def of_the_rare(way: str) -> float:
    """Return the loss at the end after a rare letter, with the best learning rate."""
    table = trained(way, best_rate(way))[1]
    return float(losses_of(table)[np.isin(IDS[:-1], RARE)].mean())


def of_the_common(way: str) -> float:
    """Return the same after any other letter."""
    table = trained(way, best_rate(way))[1]
    return float(losses_of(table)[~np.isin(IDS[:-1], RARE)].mean())
