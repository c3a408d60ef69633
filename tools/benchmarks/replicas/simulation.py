"""A queueing model of one to a thousand replicas, whose times were measured on one.

A replica works as step 15's server does, in iterations. If requests wait and the batch has room, an iteration reads
their prompts, and each gets its first token. Otherwise every running request gets its next token. How long that takes
was measured, by how many requests run. Requests arrive at random moments. A balancer gives each to a replica at once,
and knows no more than a real one does: how many of its own requests each replica has.

The model leaves out the network and the balancer's own time, and all prompts are as long as those that were measured.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

Balancing = Callable[[np.ndarray, random.Random], int]  # requests of each replica -> the replica that gets one more


def at_random(counts: np.ndarray, drawn: random.Random) -> int:  # [replica] -> a replica
    """Choose any replica."""
    return drawn.randrange(len(counts))


def better_of_two(counts: np.ndarray, drawn: random.Random) -> int:  # [replica] -> a replica
    """Choose the one with fewer requests of two random replicas."""
    one, other = drawn.randrange(len(counts)), drawn.randrange(len(counts))
    return one if counts[one] <= counts[other] else other


def fewest(counts: np.ndarray, drawn: random.Random) -> int:  # [replica] -> a replica
    """Choose the replica with the fewest requests, as HAProxy's ``leastconn`` does."""
    return int(counts.argmin())


RULES: dict[str, Balancing] = {"random": at_random, "better of two": better_of_two, "fewest requests": fewest}


@dataclass(frozen=True)
class Times:
    """How long iterations take, measured at some batch sizes; between them, the time is on a straight line.

    Args:
        batches: batch sizes, growing from 1. The last is the largest that a replica runs.
        tokens: the seconds of a token for all requests of a batch, by how many busy replicas share the processor.
        prompt: the seconds of one prompt, by the same.
    """

    batches: tuple[int, ...]
    tokens: Mapping[int, tuple[float, ...]]
    prompt: Mapping[int, float]

    def table(self, busy: int) -> list[float]:
        """Return the seconds of a token by batch size, from 0 on, while ``busy`` replicas share the processor."""
        known = self.tokens[min(busy, max(self.tokens))]
        return np.interp(range(self.batches[-1] + 1), self.batches, known).tolist()

    def capacity(self, tokens: int, busy: int = 1) -> float:
        """Return the requests per second that a replica can answer while ``busy`` replicas share the processor."""
        return self.batches[-1] / self.full(tokens, busy)

    def full(self, tokens: int, busy: int = 1) -> float:
        """Return the seconds that a full batch takes, from the prompts to the last token."""
        return self.batches[-1] * self.prompt[busy] + (tokens - 1) * self.tokens[busy][-1]


class Waiting:
    """A request on its way through a replica."""

    __slots__ = ("arrived", "left")

    def __init__(self, arrived: float, tokens: int) -> None:
        self.arrived, self.left = arrived, tokens


class Cluster:
    """Replicas behind a balancer, while simulated time passes.

    Args:
        replicas: how many there are.
        times: of an iteration.
        rule: by which the balancer chooses.
        shared: whether all replicas share one processor, so that an iteration takes longer while others are busy.
        seed: of what is drawn.
    """

    def __init__(self, replicas: int, times: Times, rule: Balancing, *, shared: bool, seed: int) -> None:
        self.environment, self.drawn, self.rule = simpy.Environment(), random.Random(seed), rule
        self.counts = np.zeros(replicas, dtype=np.int64)
        self.busy, self.batch = 0, times.batches[-1]
        self.most = replicas if shared else 1  # replicas that slow each other
        self.tables = [times.table(busy) for busy in range(1, self.most + 1)]
        self.prompts = [times.prompt[min(busy, max(times.prompt))] for busy in range(1, self.most + 1)]
        self.queues = [simpy.Store(self.environment) for _ in range(replicas)]
        self.answered: list[tuple[float, float]] = []  # when each request arrived, and its seconds
        for number in range(replicas):
            self.environment.process(self.replica(number))

    def arrivals(self, rate: float, tokens: int, duration: float) -> Generator[simpy.Event, Any, None]:
        """Send requests at random moments, ``rate`` each second on average, for ``duration`` seconds."""
        while self.environment.now < duration:
            yield self.environment.timeout(self.drawn.expovariate(rate))
            chosen = self.rule(self.counts, self.drawn)
            self.counts[chosen] += 1
            self.queues[chosen].put(Waiting(self.environment.now, tokens))

    def replica(self, number: int) -> Generator[simpy.Event, Any, None]:
        """Run one iteration after another while there are requests: prompts first, then tokens."""
        queue, running = self.queues[number], list[Waiting]()
        while True:
            joining: list[Waiting] = []
            if not running:
                joining.append((yield queue.get()))
                self.busy += 1
            while queue.items and len(running) + len(joining) < self.batch:
                joining.append((yield queue.get()))
            busy = min(self.busy, self.most) - 1
            took = len(joining) * self.prompts[busy] if joining else self.tables[busy][len(running)]
            yield self.environment.timeout(took)
            for request in joining or running:
                request.left -= 1
                if not request.left:
                    self.answered.append((request.arrived, self.environment.now - request.arrived))
                    self.counts[number] -= 1
            running = [request for request in running + joining if request.left]
            self.busy -= not running


def latencies(
    times: Times,
    *,
    replicas: int,
    rate: float,
    tokens: int,
    rule: str = "fewest requests",
    shared: bool = False,
    duration: float = 60.0,
    warm: float = 5.0,
    seed: int = 1,
) -> list[float]:
    """Return the seconds that every request took of those that arrived between ``warm`` and ``duration`` seconds.

    Args:
        times: of an iteration, as measured.
        replicas: how many there are.
        rate: requests per second that arrive for all of them together.
        tokens: of each request.
        rule: one of ``RULES``.
        shared: whether the replicas share one processor.
        duration: seconds in which requests arrive.
        warm: seconds at the beginning that do not count, while the replicas fill.
        seed: of what is drawn.
    """
    cluster = Cluster(replicas, times, RULES[rule], shared=shared, seed=seed)
    cluster.environment.process(cluster.arrivals(rate, tokens, duration))
    cluster.environment.run()  # until the last request is answered
    return [took for arrived, took in cluster.answered if arrived > warm]


def by_load(
    times: Times, tokens: int, counts: Sequence[int], loads: Sequence[float], rules: Mapping[int, Sequence[str]]
) -> list[dict[str, Any]]:
    """Return a row for each number of replicas, rule and load: the median and the 99th percentile of the latency.

    A load is a share of what all replicas can answer. Few replicas are simulated for longer, so that every row has
    some thousand requests.
    """
    from tools.benchmarks.replicas.load import percentile

    rows = []
    for count in counts:
        for rule in rules[count]:
            for load in loads:
                rate = load * count * times.capacity(tokens)
                warm = 3 * times.full(tokens)
                took = latencies(
                    times,
                    replicas=count,
                    rate=rate,
                    tokens=tokens,
                    rule=rule,
                    duration=warm + max(warm, 6_000 / rate),
                    warm=warm,
                )
                row = {"replicas": count, "rule": rule, "load": load, "requests": len(took)}
                rows.append(row | {"median": round(percentile(took, 0.5), 4), "p99": round(percentile(took, 0.99), 4)})
    return rows
