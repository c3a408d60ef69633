"""Time the server at several numbers of clients, beside Hugging Face's.

Every client sends one request after another, and waits for the whole text each time; a figure is the tokens per second
that all of them get together. A server whose turn it is not waits for requests, which takes next to no time. This
course's server is compared with ``transformers serve`` of the same checkpoint, with and without continuous batching.
CONTRIBUTING.md says how to take figures.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from typing import IO

from checker.course.paths import ROOT, SMALL_MODEL
from tools.benchmarks.harness import Column, Result, conditions, finish, say, seconds, table, take_turns, task_arguments
from tools.benchmarks.preparing import CHECKPOINT, folder_of

START_SECONDS = 900
HUGGING_FACE = [str(Path(sys.executable).parent / "transformers"), "serve", "{folder}", "--device", "cpu"]
SERVERS = {  # its name in the figures: how to start it
    "max": [sys.executable, *task_arguments("serve"), "--model", "{folder}"],
    "transformers": HUGGING_FACE,
    "transformers, continuous batching": [*HUGGING_FACE, "--continuous-batching"],
}
READY = {"max": "/ready"}  # the path that answers once a server can be asked, if it is not /health
Places = dict[str, tuple[int, str]]  # by server: its port, and its name of the model
PROMPTS = [f"{who} {what}" for who, what in product(("The whale", "Ahab", "A man", "The sea"), range(8))]


def ask(port: int, model: str, prompt: str, tokens: int) -> int:
    """Send one request, and return how many tokens came."""
    request = {"model": model, "prompt": prompt, "max_tokens": tokens, "temperature": 0}
    address = f"http://127.0.0.1:{port}/v1/completions"
    body = urllib.request.Request(address, json.dumps(request).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(body, timeout=600) as answer:
        return json.load(answer)["usage"]["completion_tokens"]


@contextmanager
def running(name: str, folder: Path) -> Iterator[tuple[int, str]]:
    """Run a server until it is ready and warm; yield its port, and the name by which it knows the model."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [part.format(folder=folder) for part in SERVERS[name]]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)], cwd=ROOT, env=environment, stdout=log, stderr=log
        )
        try:
            model = folder.name if name == "max" else str(folder)
            limit = time.monotonic() + START_SECONDS
            while not _answers(port, READY.get(name, "/health")):
                if process.poll() is not None or time.monotonic() > limit:
                    raise SystemExit(f"bench-serve: {name} did not start:\n{_end_of(log)}")
                time.sleep(0.2)
            try:
                ask(port, model, PROMPTS[0], 8)
            except urllib.error.HTTPError as error:
                raise SystemExit(f"bench-serve: {name} does not answer ({error}):\n{_end_of(log)}") from error
            yield port, model
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _end_of(log: IO[str]) -> str:
    log.seek(0)
    return log.read()[-2000:]


def _answers(port: int, path: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5):
            return True
    except OSError:
        return False


def tokens_per_second(port: int, model: str, clients: int, duration: float, tokens: int) -> float:
    """Return the total rate of ``clients``, each asking for ``tokens`` tokens again and again for some seconds."""
    started = time.perf_counter()

    def client(number: int) -> int:
        received = turn = 0
        while not turn or time.perf_counter() - started < duration:
            received += ask(port, model, PROMPTS[(number + turn) % len(PROMPTS)], tokens)
            turn += 1
        return received

    with ThreadPoolExecutor(clients) as pool:
        received = sum(pool.map(client, range(clients)))
    return received / (time.perf_counter() - started)


def as_markdown(result: Result) -> str:
    """Return the figures as tables."""
    return "\n\n".join(tables(result).values())


def tables(result: Result) -> dict[str, str]:
    """Return a table for each model: tokens per second, with requests in parentheses, by the number of clients."""

    def cells(rates: dict[str, float]) -> dict[str, str]:
        return {count: f"{rate:.0f} ({rate / result['tokens of a request']:.1f})" for count, rate in rates.items()}

    columns = [Column("tokens (requests) a second, by clients", "server")]
    columns += [Column(str(count), str(count), rule="--:") for count in result["clients"]]
    return {
        model: table(columns, [{"server": server} | cells(rates) for server, rates in servers.items()])
        for model, servers in result["tokens a second"].items()
    }


def run(
    servers: Sequence[str],
    clients: Sequence[int],
    rounds: int,
    duration: float,
    tokens: int,
    large: bool,
    out: Path | None,
) -> None:
    """Time every server and print tables.

    Args:
        servers: some of ``SERVERS``.
        clients: how many ask at once, one figure for each.
        rounds: how often each is timed.
        duration: seconds of a turn, in which every client asks again and again.
        tokens: the tokens of each request.
        large: also time the architecture of GPT-2 small, with random weights.
        out: where to write the figures as JSON.
    """
    result = conditions(rounds) | {"tokens of a request": tokens, "clients": list(clients), "tokens a second": {}}
    models = {"moby-dick": SMALL_MODEL} | ({"124M, random weights": folder_of(False) / CHECKPOINT} if large else {})
    for model, folder in models.items():
        with ExitStack() as stack:
            places = {server: stack.enter_context(running(server, folder)) for server in servers}

            def measure(way: tuple[int, str], model: str = model, places: Places = places) -> float:
                count, server = way
                rate = tokens_per_second(*places[server], count, duration, tokens)
                say(f"  {model}, {server}, {count} clients: {rate:.1f}")
                return rate

            rates = take_turns(product(clients, places), rounds, measure)
        result["tokens a second"][model] = {
            server: {str(count): seconds(rates[count, server], 1) for count in clients} for server in servers
        }
    finish(as_markdown(result), result, out)
