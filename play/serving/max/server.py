"""Start MAX's server, with this course's architecture and with validation in front of it."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from max.driver import DeviceSpec, accelerator_count

from checker.course.paths import ROOT
from play.serving.environment import CannotServe
from play.serving.validation import ModelLimits, RequestValidation
from play.tokens import load_tokenizer
from solutions.solution_13 import checkpoint_folder, read_config

ARCHITECTURE = f"{ROOT}:play.serving.max.architecture"
WORKER_SECONDS = 1.0  # for which MAX lets its model worker end before killing it: it has nothing to save
ENVIRONMENT = {  # of this process and of those that MAX starts
    "HF_HUB_OFFLINE": "1",  # the checkpoint is a local folder by now
    "MAX_SERVE_API_TYPES": '["openai"]',
    "MAX_SERVE_DISABLE_TELEMETRY": "1",
    "MAX_SERVE_GRACEFUL_SHUTDOWN_TIMEOUT_S": "3",  # seconds that running requests have after a SIGTERM
    "MAX_SERVE_METRIC_RECORDING_METHOD": "NOOP",
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass
class Options:
    """What to serve, and where."""

    model: str | Path  # a folder, or a name that step 13 knows
    host: str
    port: int
    device: str
    batch: int  # requests that run at once
    verbose: bool


def check_port(host: str, port: int) -> None:
    """Refuse an address that cannot be used, before anything is loaded.

    Raises:
        CannotServe: the port is taken or is not a port, or the host is not this machine's.
    """
    try:
        socket.create_server((host, port)).close()
    except (OSError, OverflowError) as error:
        raise CannotServe(f"{host}:{port} cannot be served at ({error}); choose another --port or --host") from error


def read_limits(folder: Path, name: str) -> ModelLimits:
    """Read from a checkpoint what its model, served under a name, can answer.

    Raises:
        ValueError: the checkpoint is not of this model, or has no tokenizer.
    """
    config, tokenizer = read_config(folder), load_tokenizer(folder)
    return ModelLimits(name, config.n_positions, config.vocab_size, lambda text: tokenizer.encode(text).ids)


def check_device(name: str) -> None:
    """Refuse a device that MAX cannot use here.

    Raises:
        CannotServe: there is no GPU.
    """
    if name == "gpu" and not accelerator_count():
        raise CannotServe("there is no GPU that MAX can use here; leave --device out to serve from the CPU")


def prepare_server(limits: ModelLimits) -> None:
    """Change, in this process, what MAX's server has no argument for; call it once, before the server starts.

    It sets the environment that MAX's settings and processes read. It replaces the function by which MAX makes its
    application with one that adds the validation, and shortens the time that MAX gives its model worker to end.
    """
    for variable, value in ENVIRONMENT.items():
        os.environ.setdefault(variable, value)
    from max._entrypoints.cli.serve import serve_api_and_model_worker as entry
    from max.serve import process_control

    make_app = entry.fastapi_app

    def validating_app(*arguments: Any) -> Any:
        app = make_app(*arguments)
        app.add_middleware(RequestValidation, limits=limits)
        return app

    entry.fastapi_app = validating_app  # type: ignore[assignment]
    process_control._SIGTERM_GRACE = WORKER_SECONDS


def serve(options: Options, tell: Callable[[str], None]) -> None:
    """Serve until a signal ends it, and ``tell`` how far along it is.

    Raises:
        CannotServe: the port is taken, or there is no such device.
        ValueError: the checkpoint cannot be found or read.
        SystemExit: the server ended; status 1 if its model worker could not go on.
    """
    started = time.perf_counter()
    check_port(options.host, options.port)
    check_device(options.device)
    folder = checkpoint_folder(options.model)
    name = folder.resolve().name if Path(options.model).is_dir() else str(options.model)
    limits = read_limits(folder, name)
    tell(f"MAX gets {name} ready; if it has not compiled this model before, that takes a few minutes")
    prepare_server(limits)
    from max._entrypoints.cli.serve import serve_api_and_model_worker as entry
    from max.pipelines.lib import PipelineArgs
    from max.serve.config import Settings
    from max.serve.telemetry.common import configure_logging

    level = "INFO" if options.verbose else "WARNING"
    settings = Settings(MAX_SERVE_HOST=options.host, MAX_SERVE_PORT=options.port, MAX_SERVE_LOGS_CONSOLE_LEVEL=level)
    configure_logging(settings)
    arguments = PipelineArgs.from_flat_kwargs(
        model_path=str(folder),
        served_model_name=name,
        device_specs=[DeviceSpec.cpu() if options.device == "cpu" else DeviceSpec.accelerator()],
        max_batch_size=options.batch,
        custom_architectures=[ARCHITECTURE],
    )
    address = f"http://{options.host}:{options.port}"

    def tell_when_ready() -> None:
        answered, moving = False, sys.stderr.isatty()
        while not answered:
            time.sleep(0.1)
            seconds = time.perf_counter() - started
            if moving:
                print(f"\r{seconds:.0f} s ", end="", file=sys.stderr, flush=True)
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/health", timeout=5):
                answered = True
        if moving:
            print("\r", end="", file=sys.stderr)
        tell(f"ready after {seconds:.0f} s at {address}/v1, where the model is called {name}; Ctrl-C ends it")

    threading.Thread(target=tell_when_ready, daemon=True).start()
    entry.serve_api_server_and_model_worker(settings, arguments)
