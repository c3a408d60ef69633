"""Take the figures of the chapter on more than one machine, part by part.

Every part starts its own servers and says under what conditions it ran. ``--out`` keeps the parts that were not run.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from checker.course.paths import SMALL_MODEL
from play.serving.replicas import start
from tools.benchmarks.harness import Result, conditions, finish, ratio, read, say, take_turns
from tools.benchmarks.replicas import faults, simulation
from tools.benchmarks.replicas.load import Answer, Request, closed_loop, for_seconds, open_loop, percentile
from tools.benchmarks.replicas.processes import Process, balancer, ray, running, server, status
from tools.benchmarks.replicas.results import tables
from tools.benchmarks.serving import PROMPTS, random_checkpoint

TOKENS = 32  # of each request
PROMPT_CLIENTS = 8  # that ask for one token each, to measure what a prompt costs
KINDS = ((1, True), (8, True), (32, True), (32, False))  # of clients: how many, and whether they ask for streams
BATCHES = (1, 2, 4, 8, 16, 32)  # clients of one server; the last is the largest batch that it runs
SECONDS = 1.0  # of each turn
LONG_SECONDS = 4.0  # of one that is compared with another; 32 texts at once take half a second
FAULT_TOKENS = 16  # of each request while a server fails
RATES = (0.2, 0.4, 0.6, 0.8)  # shares of what two servers on one processor can answer
OPEN_SECONDS = 8.0
COUNTS = (1, 2, 10, 100, 1000)
LOADS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
RULES = {count: ("fewest requests",) if count < 1000 else tuple(simulation.RULES) for count in COUNTS}
CONVERSATIONS, TURNS, SPEAKERS = 6, 5, 3
FIRST_TURN, LATER_TURN = 256, 128  # tokens; a page of MAX's cache has 128


def asked(stream: bool = False) -> list[Request]:
    """Return the requests that clients send, in turns."""
    return [Request(prompt, TOKENS, stream) for prompt in PROMPTS]


@contextmanager
def served(count: int, folder: Path = SMALL_MODEL, *options: str, cores: Sequence[int] = ()) -> Iterator[list[Process]]:
    """Run so many servers, warm; on some processors, if not on all."""
    servers = [server(folder, *options, cores=cores) for _ in range(count)]
    with running(*servers):
        for one in servers:
            one.wait_until_ready()
        for one in servers:
            for_seconds(one.port, [Request("The", 8, model=folder.name)], 32, 0.5)
        yield servers


@contextmanager
def balanced(*servers: Process) -> Iterator[Process]:
    """Run HAProxy before servers, until it knows that they are ready."""
    before = balancer(*(one.port for one in servers))
    with running(before):
        seen, limit = set[str](), time.monotonic() + 20
        while len(seen) < len(servers) and time.monotonic() < limit:
            seen |= {one.server for one in closed_loop(before.port, [Request("The", 1)] * 4, 1)} - {""}
        yield before


def rate(answers: Sequence[Answer]) -> float:
    """Return the tokens per second of all clients together.

    Raises:
        RuntimeError: a request failed, so there is nothing to measure.
    """
    if failed := [one.error for one in answers if not one.right]:
        raise RuntimeError(f"{len(failed)} of {len(answers)} requests failed: {failed[0]}")
    took = max(one.started + one.seconds for one in answers) - min(one.started for one in answers)
    return sum(one.request.tokens for one in answers) / took


# ---------------------------------------------------------------- the parts


def iterations(rounds: int) -> Result:
    """Measure how long an iteration takes at each batch size, with one server, and with two on the same processor."""
    with served(2) as servers:

        def measure(way: tuple[int, int]) -> float:
            batch, busy = way
            sent = asked() if batch else [Request(prompt, 1) for prompt in PROMPTS]  # the prompt, and no more
            with ThreadPoolExecutor(busy) as pool:
                clients = batch or PROMPT_CLIENTS
                rates = pool.map(lambda one: rate(for_seconds(one.port, sent, clients, SECONDS)), servers[:busy])
                took = (batch or 1) / statistics.mean(rates)
            say(f"  {f'batch {batch}' if batch else 'a prompt'}, {busy} busy: {1000 * took:.2f} ms")
            return took

        times = take_turns([(batch, busy) for busy in (1, 2) for batch in (0, *BATCHES)], rounds, measure)
    medians = {way: round(statistics.median(took), 6) for way, took in times.items()}
    return {
        "tokens": TOKENS,
        "batches": list(BATCHES),
        "seconds": {str(busy): [medians[batch, busy] for batch in BATCHES] for busy in (1, 2)},
        "prompt": {str(busy): medians[0, busy] for busy in (1, 2)},
    }


def times_of(result: Result) -> simulation.Times:
    """Return the measured times as the simulation takes them.

    A measured time is that of a whole request, by its tokens. The first of them comes with the prompt, so the prompts
    of all requests of the batch are taken out of it.
    """
    part = result["parts"]["iterations"]
    batches, whole = part["batches"], part["tokens"]
    prompt = {int(busy): seconds for busy, seconds in part["prompt"].items()}
    tokens = {
        int(busy): tuple(
            (whole * seconds - batch * prompt[int(busy)]) / (whole - 1)
            for batch, seconds in zip(batches, row, strict=True)
        )
        for busy, row in part["seconds"].items()
    }
    return simulation.Times(tuple(batches), tokens, prompt)


@contextmanager
def one_kept() -> Iterator[list[int]]:
    """Keep this process, and what it starts, to the last processor, and yield the others: those of a server.

    With one processor, or where processes cannot be kept to some, all share all.
    """
    all_of_them = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(all_of_them) < 2:
        yield []
        return
    os.sched_setaffinity(0, all_of_them[-1:])
    try:
        yield all_of_them[:-1]
    finally:
        os.sched_setaffinity(0, all_of_them)


def cost(rounds: int) -> Result:
    """Compare one server with the same server behind HAProxy, which has a processor of its own, with the clients."""
    with one_kept() as others, served(1, cores=others) as (alone,), balanced(alone) as before:
        rows = _compared({"alone": alone.port, "behind HAProxy": before.port}, rounds)
        work = _processor_share(before, alone)
        return {"rows": rows, "work": work, "memory, MB": {"server": alone.memory(), "HAProxy": before.memory()}}


def in_ray(rounds: int) -> Result:
    """Compare one server with one that is a replica in Ray Serve."""
    before = ray(1)
    with served(1) as (alone,), running(before):
        try:
            before.wait_until_ready()
            for_seconds(before.port, asked(), 32, 0.5)
            rows = _compared({"alone": alone.port, "in Ray Serve": before.port}, rounds)
            memory = before.memory() - alone.memory()  # one server runs in it
        finally:
            before.end()
    size = sum(path.stat().st_size for path in start.HOME.rglob("*") if path.is_file() and not path.is_symlink())
    return {"rows": rows, "memory, MB": memory, "environment, MB": round(size / 1e6)}


def _processor_share(before: Process, alone: Process) -> float:
    """Return the processor time of the balancer, as a share of the server's, while 32 clients read streams."""
    start_of = [one.processor_seconds() for one in (before, alone)]
    for_seconds(before.port, asked(True), 32, 3 * SECONDS)
    balancers, servers = (
        one.processor_seconds() - earlier for one, earlier in zip((before, alone), start_of, strict=True)
    )
    return round(balancers / servers, 4)


def _compared(ports: Mapping[str, int], rounds: int) -> list[dict[str, Any]]:
    """Return a row for each number of clients, with and without streams: rates and latencies at both ports."""
    found: dict[Any, list[Answer]] = {}

    def measure(way: tuple[int, bool, str]) -> float:
        clients, stream, name = way
        answers = for_seconds(ports[name], asked(stream), clients, LONG_SECONDS)
        found.setdefault(way, []).extend(answers)
        return rate(answers)

    rates = take_turns([(*kind, name) for kind in KINDS for name in ports], rounds, measure)
    rows = []
    for kind in KINDS:
        row: dict[str, Any] = {"clients": kind[0], "stream": kind[1]}
        for name in ports:
            answers = found[*kind, name]
            row |= {
                f"{name}, tokens/s": round(statistics.median(rates[*kind, name]), 1),
                f"{name}, ms": round(1000 * statistics.median(one.seconds for one in answers), 1),
                f"{name}, first ms": round(1000 * statistics.median(one.first for one in answers), 1),
            }
        one, other = (rates[*kind, name] for name in ports)
        rows.append(row | {"rate": ratio(other, one)})
        say(f"  {rows[-1]}")
    return rows


def two(rounds: int, times: simulation.Times) -> Result:
    """Compare two servers behind HAProxy with the simulation: requests at random moments, and their latencies."""
    capacity = 2 * times.capacity(TOKENS, busy=2)
    rows = []
    with served(2) as servers, balanced(*servers) as before:
        for share in RATES:
            arrivals, took = share * capacity, list[float]()
            for turn in range(rounds):
                sent = (asked() * round(1 + arrivals * OPEN_SECONDS / len(PROMPTS)))[: round(arrivals * OPEN_SECONDS)]
                answers = open_loop(before.port, sent, arrivals, seed=turn)
                rate(answers)
                took += [one.seconds for one in answers[len(answers) // 6 :]]
            expected = simulation.latencies(
                times, replicas=2, rate=arrivals, tokens=TOKENS, shared=True, duration=120, warm=5
            )
            row: dict[str, Any] = {"load": share, "requests a second": round(arrivals, 1), "requests": len(took)}
            for name, part in (("median", 0.5), ("p95", 0.95)):
                row[f"measured {name}"] = round(percentile(took, part), 4)
                row[f"simulated {name}"] = round(percentile(expected, part), 4)
            say(f"  {row}")
            rows.append(row)
    return {"tokens": TOKENS, "rows": rows}


def simulated(rounds: int, times: simulation.Times) -> Result:
    """Simulate up to a thousand replicas, each with a processor of its own."""
    rows = simulation.by_load(times, TOKENS, COUNTS, LOADS, RULES)
    return {"tokens": TOKENS, "capacity of one": round(times.capacity(TOKENS), 2), "rows": rows}


def conversations(seed: int) -> list[list[list[int]]]:
    """Return the prompts of some conversations: each is the one before, and what was said since."""
    drawn = random.Random(seed)
    talks = []
    for _ in range(CONVERSATIONS):
        said = [drawn.randrange(1000) for _ in range(FIRST_TURN + LATER_TURN * (TURNS - 1))]
        talks.append([said[: FIRST_TURN + LATER_TURN * turn] for turn in range(TURNS)])
    return talks


def prefixes(rounds: int) -> Result:
    """Measure the time to the first token of conversations that stay at one server, or do not."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "random-124m"
        folder.mkdir()
        random_checkpoint(folder)
        for cached in (True, False):
            options = ["--batch", "8", *["--no-prefix-cache"] * (not cached)]
            with served(2, folder, *options) as servers, balanced(*servers) as before:

                def measure(stays: bool, port: int = before.port, model: str = folder.name) -> float:
                    return _talk(port, model, conversations(time.monotonic_ns()), stays)

                took = take_turns((True, False), rounds, measure)
            for stays in (True, False):
                first = statistics.median(took[stays])
                rows.append({"cached": cached, "stays": stays, "first token, s": round(first, 3)})
                say(f"  {rows[-1]}")
    return {"turns": TURNS, "first turn": FIRST_TURN, "later turns": LATER_TURN, "rows": rows}


def _talk(port: int, model: str, talks: Sequence[Sequence[Sequence[int]]], stays: bool) -> float:
    """Return the median time to the first token, over all turns but the first of each conversation."""

    def talk(number: int) -> list[float]:
        headers = {"X-Session-Id": f"{number} of {id(talks)}"} if stays else {}
        answers = closed_loop(port, [Request(prompt, 1, headers=headers, model=model) for prompt in talks[number]], 1)
        rate(answers)
        return [one.seconds for one in answers[1:]]

    with ThreadPoolExecutor(SPEAKERS) as pool:
        return statistics.median(chain.from_iterable(pool.map(talk, range(len(talks)))))


def seen_faults(rounds: int) -> Result:
    """Restart, kill and freeze a server behind HAProxy, and count what failed."""
    rows = []
    with served(2) as servers, balanced(*servers) as before:
        sent = faults.requests(PROMPTS, FAULT_TOKENS)
        wanted = faults.alone(servers[1].port, sent)
        for name, fault, mend in (
            ("restarted", faults.restart(servers[0]), lambda: None),
            ("killed", faults.kill(servers[0]), servers[0].start),
            ("frozen", faults.freeze(servers[0]), servers[0].thaw),
        ):
            got = faults.happens(before.port, sent, wanted, fault)
            mend()
            while status(servers[0].port, "/ready") != 200:
                time.sleep(0.1)
            time.sleep(2)  # in which HAProxy sees it, too
            rows.append(
                {
                    "fault": name,
                    "requests": len(got.answers),
                    "failed": len(got.failed),
                    "failed streams": sum(one.request.stream for one in got.failed),
                    "wrong": len(got.wrong),
                    "longest, s": round(got.longest, 2),
                    "seconds": round(got.seconds, 2),
                }
            )
            say(f"  {rows[-1]} {sorted({one.error for one in got.failed})}")
    return {"clients": faults.CLIENTS, "rows": rows}


PARTS: dict[str, Callable[..., Result]] = {
    "iterations": iterations,
    "cost": cost,
    "two": two,
    "simulated": simulated,
    "prefixes": prefixes,
    "faults": seen_faults,
    "ray": in_ray,
}
FROM_ITERATIONS = ("two", "simulated")


def run(parts: Sequence[str], rounds: int, out: Path | None) -> None:
    """Run some parts and print tables.

    Args:
        parts: some of ``PARTS``; those that simulate use the iterations of this run, or of ``out``.
        rounds: how often each is measured.
        out: where to write the figures as JSON, beside those of the parts that are not run.

    Raises:
        RuntimeError: requests failed, or there are no iterations to simulate with.
    """
    result: Result = {"parts": {}} | (read(out) if out else {})
    for name in PARTS:
        if name in parts:
            say(name)
            if name in FROM_ITERATIONS and "iterations" not in result["parts"]:
                raise RuntimeError(f"{name} simulates with measured iterations; run the part `iterations` first")
            given = (times_of(result),) if name in FROM_ITERATIONS else ()
            result["parts"][name] = conditions(rounds) | PARTS[name](rounds, *given)
            if out:
                out.write_text(json.dumps(result, indent=2) + "\n")  # a later part may fail
    finish("\n\n".join(tables(result).values()), result, out)
