"""Time the server at 1, 8 and 32 clients, beside Hugging Face's.

``python -m tools.benchmarks.serving [--rounds 3] [--large] [--servers max …] [--out FILE]``

Every client sends one request after the other and waits for the whole text; a figure is the tokens that
all of them get in a second, the median of several rounds. In a round the servers take turns of a few seconds, so that
a machine that slows down slows all of them; who has no turn waits for requests, which takes next to no time. Beside
``./run serve`` stands ``transformers serve`` of the same checkpoint, with and without its continuous batching.
What else runs on the machine slows PyTorch's threads more than MAX's: believe figures of a quiet one.

``--large`` adds the architecture of GPT-2 small, 124 million weights, with random ones: speed does not depend on
what a model says.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from typing import IO, Any

import numpy as np
import psutil
from safetensors.numpy import save_file

from checker.course.paths import ROOT
from solutions.solution_01 import GPT2Config

SMALL = ROOT / "models" / "moby-dick"
START_SECONDS = 900
HUGGING_FACE = [str(Path(sys.executable).parent / "transformers"), "serve", "{folder}", "--device", "cpu"]
SERVERS = {  # what it is called in the figures: how it is started
    "max": [sys.executable, "-m", "play.serve", "--model", "{folder}"],
    "transformers": HUGGING_FACE,
    "transformers, continuous batching": [*HUGGING_FACE, "--continuous-batching"],
}
PROMPTS = [f"{who} {what}" for who, what in product(("The whale", "Ahab", "A man", "The sea"), range(8))]


def random_checkpoint(folder: Path) -> Path:
    """A checkpoint of GPT-2 small's sizes with random weights; its tokenizer is the small model's, filled up."""
    config = GPT2Config()
    width, inner, draw = config.n_embd, config.n_inner or 0, np.random.RandomState(0)

    def matrix(*shape: int) -> np.ndarray:
        return draw.standard_normal(shape).astype(np.float32) * np.float32(0.02)

    tensors = {"wte.weight": matrix(config.vocab_size, width), "wpe.weight": matrix(config.n_positions, width)}
    layers = {"attn.c_attn": (width, 3 * width), "attn.c_proj": (width, width)}
    layers |= {"mlp.c_fc": (width, inner), "mlp.c_proj": (inner, width)}
    norms = [f"h.{layer}.{norm}" for layer in range(config.n_layer) for norm in ("ln_1", "ln_2")]
    for norm in [*norms, "ln_f"]:
        tensors |= {f"{norm}.weight": np.ones(width, np.float32), f"{norm}.bias": np.zeros(width, np.float32)}
    for layer, (name, shape) in product(range(config.n_layer), layers.items()):
        tensors[f"h.{layer}.{name}.weight"] = matrix(*shape)
        tensors[f"h.{layer}.{name}.bias"] = np.zeros(shape[1], np.float32)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    published = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "activation_function": "gelu_new"}
    (folder / "config.json").write_text(json.dumps(vars(config) | published | {"bos_token_id": 0, "eos_token_id": 0}))
    tokenizer = json.loads((SMALL / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary |= {f"<{number}>": number for number in range(len(vocabulary), config.vocab_size)}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    shutil.copy(SMALL / "tokenizer_config.json", folder)
    return folder


def ask(port: int, model: str, prompt: str, tokens: int) -> int:
    """One request; how many tokens came."""
    request = {"model": model, "prompt": prompt, "max_tokens": tokens, "temperature": 0}
    address = f"http://127.0.0.1:{port}/v1/completions"
    body = urllib.request.Request(address, json.dumps(request).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(body, timeout=600) as answer:
        return json.load(answer)["usage"]["completion_tokens"]


@contextmanager
def running(name: str, folder: Path) -> Iterator[tuple[int, str]]:
    """A server, ready and warm: its port, and by which name it knows the model."""
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
            while not _answers(port):
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


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return True
    except OSError:
        return False


def tokens_per_second(port: int, model: str, clients: int, seconds: float, tokens: int) -> float:
    """What ``clients`` get together, each asking for ``tokens`` tokens again and again, until ``seconds`` are over."""
    started = time.perf_counter()

    def client(number: int) -> int:
        received = turn = 0
        while not turn or time.perf_counter() - started < seconds:
            received += ask(port, model, PROMPTS[(number + turn) % len(PROMPTS)], tokens)
            turn += 1
        return received

    with ThreadPoolExecutor(clients) as pool:
        received = sum(pool.map(client, range(clients)))
    return received / (time.perf_counter() - started)


def as_markdown(result: dict[str, Any]) -> str:
    """The figures as tables."""
    return "\n\n".join(table(result, model) for model in result["tokens a second"])


def table(result: dict[str, Any], model: str) -> str:
    """Tokens a second of every server with one model, and in brackets requests a second, by the number of clients."""

    def cell(tokens: float) -> str:
        return f"{tokens:.0f} ({tokens / result['tokens of a request']:.1f})"

    counts = [str(count) for count in result["clients"]]
    lines = [f"| tokens (requests) a second, by clients | {' | '.join(counts)} |", "|---" + "|--:" * len(counts) + "|"]
    for name, row in result["tokens a second"][model].items():
        lines.append(f"| {name} | {' | '.join(cell(row[count]) for count in counts)} |")
    return "\n".join(lines)


def main() -> None:
    """Time every server and print tables."""
    parser = argparse.ArgumentParser(prog="bench-serve", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument(
        "--seconds", type=float, default=4, help="of a turn, in which every client asks again and again"
    )
    parser.add_argument("--tokens", type=int, default=32, help="tokens of each request")
    parser.add_argument("--servers", nargs="+", choices=list(SERVERS), default=list(SERVERS))
    parser.add_argument("--large", action="store_true", help="also the architecture of GPT-2 small, 124M")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        models = {"moby-dick": SMALL}
        if options.large:
            (Path(name) / "random-124m").mkdir()
            models["124M, random weights"] = random_checkpoint(Path(name) / "random-124m")
        figures: dict[tuple[str, str, int], list[float]] = {}
        loads = []
        for model, folder in models.items():
            with ExitStack() as stack:
                places = {server: stack.enter_context(running(server, folder)) for server in options.servers}
                for round_, clients, server in product(range(options.rounds), options.clients, places):
                    loads.append(os.getloadavg()[0])
                    rate = tokens_per_second(*places[server], clients, options.seconds, options.tokens)
                    figures.setdefault((model, server, clients), []).append(rate)
                    print(f"round {round_ + 1}: {model}, {server}, {clients} clients: {rate:.1f}", file=sys.stderr)
    result = {
        "machine": f"{platform.machine()}, {psutil.cpu_count()} threads, Python {platform.python_version()}",
        "load": round(statistics.median(loads), 2),
        "rounds": options.rounds,
        "tokens of a request": options.tokens,
        "clients": options.clients,
        "tokens a second": {
            model: {
                server: {
                    str(clients): round(statistics.median(figures[model, server, clients]), 1)
                    for clients in options.clients
                }
                for server in options.servers
            }
            for model in models
        },
    }
    print(as_markdown(result))
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
