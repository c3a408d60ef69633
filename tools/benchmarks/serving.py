"""Time the server at several numbers of clients, beside Hugging Face's.

Every client sends one request after another, and waits for the whole text each time; a figure is the tokens per second
that all of them get together. A server whose turn it is not waits for requests, which takes next to no time. This
course's server is compared with ``transformers serve`` of the same checkpoint, with and without continuous batching.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import product
from pathlib import Path

from checker.course.steps import SMALL_MODEL
from checker.errors import UserError
from checker.files import ROOT
from tools.benchmarks.harness import Column, Result, conditions, finish, median, say, table, take_turns, task_arguments
from tools.benchmarks.random_weights import random_checkpoint

START_SECONDS = 900
SECONDS, TOKENS = 4.0, 32  # of a turn, and of each request
LONGEST_LOG = 2000  # characters
OURS = "max"
HUGGING_FACE = [str(Path(sys.executable).parent / "transformers"), "serve", "{folder}", "--device", "cpu"]
SERVERS = {  # its name in the figures: how to start it
    OURS: [sys.executable, *task_arguments("serve"), "--model", "{folder}"],
    "transformers": HUGGING_FACE,
    "transformers, continuous batching": [*HUGGING_FACE, "--continuous-batching"],
}
TITLES = {
    OURS: "this course, on MAX's server",
    "transformers": "`transformers serve`",
    "transformers, continuous batching": "`transformers serve --continuous-batching`",
}
Place = tuple[int, str]  # the port of a server, and its name of the model
PROMPTS = [f"{who} {what}" for who, what in product(("The whale", "Ahab", "A man", "The sea"), range(8))]


def ask(place: Place, prompt: str, tokens: int = TOKENS) -> int:
    """Send one request, and return how many tokens came."""
    port, model = place
    request = {"model": model, "prompt": prompt, "max_tokens": tokens, "temperature": 0}
    address = f"http://127.0.0.1:{port}/v1/completions"
    body = urllib.request.Request(address, json.dumps(request).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(body, timeout=600) as answer:
        return json.load(answer)["usage"]["completion_tokens"]


@contextmanager
def running(name: str, folder: Path) -> Iterator[Place]:
    """Run a server until it has answered a request; yield where it is.

    Raises:
        UserError: it did not answer; the message quotes its last words.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [part.format(folder=folder) for part in SERVERS[name]] + ["--host", "127.0.0.1", "--port", str(port)]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    place, limit = (port, folder.name if name == OURS else str(folder)), time.monotonic() + START_SECONDS
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log) as process,
    ):
        try:
            while True:
                with suppress(OSError):
                    ask(place, PROMPTS[0], 8)
                    break
                if process.poll() is not None or time.monotonic() > limit:
                    log.seek(0)
                    raise UserError(f"{name} does not answer:\n{log.read()[-LONGEST_LOG:]}")
                time.sleep(0.2)
            yield place
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=20)
            process.kill()  # if it has not ended


def tokens_per_second(place: Place, clients: int) -> float:
    """Return the total rate of ``clients``, each of which asks again and again for some seconds."""
    started = time.perf_counter()

    def client(number: int) -> int:
        received = turn = 0
        while not turn or time.perf_counter() - started < SECONDS:
            received += ask(place, PROMPTS[(number + turn) % len(PROMPTS)])
            turn += 1
        return received

    with ThreadPoolExecutor(clients) as pool:
        received = sum(pool.map(client, range(clients)))
    return received / (time.perf_counter() - started)


def tables(result: Result) -> dict[str, str]:
    """Return a table for each model: tokens per second, with requests in parentheses, by the number of clients."""

    def cells(rates: dict[str, float]) -> dict[str, str]:
        return {count: f"{_digits(rate)} ({rate / result['tokens of a request']:.1f})" for count, rate in rates.items()}

    columns = [Column("server", "server")]
    columns += [Column(f"{count} client{'s' * (count > 1)}", str(count), rule="--:") for count in result["clients"]]
    return {
        model: table(columns, [{"server": TITLES.get(name, name)} | cells(rates) for name, rates in servers.items()])
        for model, servers in result["tokens a second"].items()
    }


def shared(result: Result, model: str) -> str:
    """Return the rows of a table: of this course's server, clients, their tokens per second, and ms between two."""
    rates = result["tokens a second"][model][OURS]
    return "\n".join(f"| {count} | {_digits(rate)} | {1000 * int(count) / rate:.0f} |" for count, rate in rates.items())


def _digits(rate: float) -> str:
    """Return a rate with as many digits as a reader needs who divides it by another."""
    return f"{rate:.1f}" if rate < 100 else f"{rate:.0f}"


def gain(result: Result, model: str, clients: int) -> float:
    """Return how many times as many tokens per second several clients get together as one alone."""
    rates = result["tokens a second"][model][OURS]
    return rates[str(clients)] / rates["1"]


def run(servers: Sequence[str], clients: Sequence[int], large: bool, rounds: int, out: Path | None) -> None:
    """Time every server and print tables.

    Args:
        servers: ``max`` and ``transformers``, or one of them.
        clients: how many ask at once, one figure for each.
        large: also time the architecture of GPT-2 small, with random weights.
        rounds: how often each is timed.
        out: where to write the figures as JSON.

    Raises:
        UserError: a server does not answer, or the large checkpoint cannot be made.
    """
    result = conditions(rounds) | {"tokens of a request": TOKENS, "clients": list(clients), "tokens a second": {}}
    models = {"moby-dick": SMALL_MODEL} | ({"124M, random weights": random_checkpoint()} if large else {})
    for model, folder in models.items():
        with ExitStack() as stack:
            wanted = [server for server in SERVERS if server.partition(",")[0] in servers]
            places = {server: stack.enter_context(running(server, folder)) for server in wanted}

            def measure(way: tuple[int, str], model: str = model, places: dict[str, Place] = places) -> float:
                count, server = way
                rate = tokens_per_second(places[server], count)
                say(f"  {model}, {server}, {count} clients: {rate:.1f}")
                return rate

            rates = take_turns(product(clients, places), rounds, measure)
        result["tokens a second"][model] = {
            server: {str(count): median(rates[count, server], 1) for count in clients} for server in places
        }
    finish("\n\n".join(tables(result).values()), result, out)
