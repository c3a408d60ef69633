"""Start MAX's model worker and its application, with this course's architecture, behind our own front.

MAX's entry point starts its application and the process that runs the model together, and ends both together. Here the
application is made anew for each such process, and what takes connections outlives it: so it can answer while the model
gets ready, and after the process has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
import uvloop
from max.driver import DeviceSpec, accelerator_count

from checker.course.paths import ROOT
from play.serving import logs
from play.serving.environment import CannotServe, Options
from play.serving.front.admission import Places
from play.serving.front.answers import App
from play.serving.front.keys import Keys
from play.serving.front.running import Running
from play.serving.front.stack import Watching, stacked
from play.serving.front.standing import Standing
from play.serving.life import Life, ModelEnded
from play.serving.max.metering import Meter
from play.serving.metrics import Metrics
from play.serving.validation import ModelLimits
from play.tokens import load_tokenizer
from solutions.solution_13 import checkpoint_files, checkpoint_folder, read_config

ARCHITECTURE = f"{ROOT}:play.serving.max.architecture"
LAST_SECONDS = 3  # in which the last answers reach clients, once all requests have ended
WORKER_SECONDS = 1.0  # for which MAX lets its model worker end before killing it: it has nothing to save
ENVIRONMENT = {  # of this process and of those that MAX starts
    "HF_HUB_OFFLINE": "1",  # the checkpoint is a local folder by now
    "MAX_SERVE_API_TYPES": '["openai"]',
    "MAX_SERVE_DISABLE_TELEMETRY": "1",
    "MAX_SERVE_METRIC_RECORDING_METHOD": "NOOP",  # nothing of MAX's own: it gets our client
    "TOKENIZERS_PARALLELISM": "false",
}


def take_port(host: str, port: int) -> socket.socket:
    """Return a socket that has an address and does not listen yet, before anything is loaded.

    Raises:
        CannotServe: the port is taken or is not a port, or the host is not this machine's.
    """
    taken = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((host, port))
    except (OSError, OverflowError, UnicodeError) as error:
        taken.close()
        raise CannotServe(f"{host}:{port} cannot be served at ({error}); choose another --port or --host") from error
    return taken


def read_limits(folder: Path, name: str, most_choices: int) -> ModelLimits:
    """Read from a checkpoint what its model, served under a name, can answer.

    Raises:
        ValueError: the checkpoint is not of this model, or has no tokenizer.
    """
    config, tokenizer = read_config(folder), load_tokenizer(folder)
    longest = max(map(len, tokenizer.get_vocab()))  # a character of a token stands for a byte of the text
    return ModelLimits(
        name,
        config.n_positions,
        config.vocab_size,
        lambda text: tokenizer.encode(text).ids,
        most_choices,
        config.n_positions * longest,
    )


def check_device(name: str) -> None:
    """Refuse a device that MAX cannot use here.

    Raises:
        CannotServe: there is no GPU.
    """
    if name == "gpu" and not accelerator_count():
        raise CannotServe("there is no GPU that MAX can use here; leave --device out to serve from the CPU")


def prepare_server(meter: Meter) -> None:
    """Change, in this process, what MAX's server has no argument for; call it once, before the server starts.

    It sets the environment that MAX's settings and processes read, gives our client to what MAX measures, and shortens
    the time that MAX gives its model worker to end.
    """
    for variable, value in ENVIRONMENT.items():
        os.environ.setdefault(variable, value)
    from max.serve import api_server, process_control

    @asynccontextmanager
    async def metering(_: object) -> AsyncGenerator[Meter, None]:
        yield meter

    api_server.start_telemetry_consumer = metering  # type: ignore[assignment]
    process_control._SIGTERM_GRACE = WORKER_SECONDS


Lived = AbstractAsyncContextManager[App]  # an application, as long as the process that runs its model is there


class Server(uvicorn.Server):
    """Takes connections at a socket; ``Life`` looks after signals."""

    def __init__(self, app: App, taken: socket.socket, idle_seconds: int) -> None:
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=LAST_SECONDS,
            timeout_keep_alive=idle_seconds,
        )
        super().__init__(config)
        self.taken = taken

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Take connections until ``should_exit``."""
        await super().serve(sockets=[self.taken])

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


def settings_of(options: Options) -> Any:
    """Return MAX's settings, and let MAX log as they say."""
    from max.serve.config import Settings
    from max.serve.telemetry.common import configure_logging

    settings = Settings(
        MAX_SERVE_HOST=options.host,
        MAX_SERVE_PORT=options.port,
        MAX_SERVE_LOGS_CONSOLE_LEVEL="INFO" if options.verbose else "WARNING",
        MODULAR_STRUCTURED_LOGGING=options.log_json,
    )
    configure_logging(settings)
    return settings


def model_of(settings: Any, folder: Path, name: str, options: Options) -> Callable[[], Lived]:
    """Return what starts MAX's model worker and makes the application that asks it."""
    from max.pipelines.lib import PIPELINE_REGISTRY, PipelineArgs, PipelineConfig
    from max.pipelines.modeling.types import PipelineTask
    from max.serve import api_server
    from max.serve.process_control import SubprocessExit

    arguments = PipelineArgs.from_flat_kwargs(
        model_path=str(folder),
        weight_path=checkpoint_files(folder),  # step 13 reads them: whatever they are stored as,
        quantization_encoding="float32",  # the model gets float32
        served_model_name=name,
        task=PipelineTask.TEXT_GENERATION,
        device_specs=[DeviceSpec.cpu() if options.device == "cpu" else DeviceSpec.accelerator()],
        max_batch_size=options.batch,
        enable_prefix_caching=not options.no_prefix_cache,
        custom_architectures=[ARCHITECTURE],
    )
    PIPELINE_REGISTRY._import_custom_architectures([ARCHITECTURE])
    config = PipelineConfig.from_args(arguments)
    found = PIPELINE_REGISTRY.retrieve_factory(config, task=PipelineTask.TEXT_GENERATION)
    serving = api_server.ServingTokenGeneratorSettings(
        model_factory=found.factory, pipeline_config=config, tokenizer=found.tokenizer, memory_plan=found.memory_plan
    )

    @asynccontextmanager
    async def model() -> AsyncGenerator[App, None]:
        app = api_server.fastapi_app(settings, serving)
        try:
            async with api_server.lifespan(app, settings, serving, app.state.zmq_endpoint_base):
                yield app
        except SubprocessExit as ended:
            raise ModelEnded(str(ended)) from None

    return model


def serve(options: Options, keys: Keys | None, tell: Callable[[str], None]) -> None:
    """Serve until a signal ends it, and ``tell`` how far along it is.

    Raises:
        CannotServe: the port is taken, or there is no such device.
        ValueError: the checkpoint cannot be found or read.
        SystemExit: the server ended otherwise; status 1 if its model worker could not go on.
    """
    started = time.perf_counter()
    with take_port(options.host, options.port) as taken:
        check_device(options.device)
        folder = checkpoint_folder(options.model)
        name = folder.resolve().name if Path(options.model).is_dir() else str(options.model)
        limits = read_limits(folder, name, options.batch + options.queue)
        tell(f"MAX gets {name} ready; if it has not compiled this model before, that takes a few minutes")
        metrics = Metrics()
        meter = Meter(metrics)
        prepare_server(meter)
        settings = settings_of(options)
        standing, places = Standing(), Places(options.batch, options.queue)
        metrics.watch(standing, places)
        running = Running(standing, options.time_limit)
        watching = Watching((metrics.add, logs.log_request), lambda: meter.batches().count, metrics.page)
        app = stacked(running, standing, places, limits, keys, watching)

        def ready() -> None:
            where = f"at {address(taken)}/v1, where the model is called {name}; Ctrl-C ends it"
            again = "again" if standing.restarts else f"after {time.perf_counter() - started:.0f} s"
            tell(f"ready {again} {where}")

        model = model_of(settings, folder, name, options)
        life = Life(standing, running, model, options.grace, options.restart, tell, ready)
        server = Server(app, taken, settings.http_keepalive_timeout_s)
        if status := uvloop.run(_live(life, server, _tick(started, standing))):
            raise SystemExit(status)


async def _live(life: Life, server: Server, ticking: Coroutine[Any, Any, None]) -> int:
    shown = asyncio.create_task(ticking)
    try:
        return await life.live(server)
    finally:
        shown.cancel()


def address(taken: socket.socket) -> str:
    """Return the address of a socket, as a browser or a client takes it."""
    host, port = taken.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def _tick(started: float, standing: Standing) -> None:
    """Show the seconds until the model is ready, in a terminal."""
    while sys.stderr.isatty() and standing.app is None:
        print(f"\r{time.perf_counter() - started:.0f} s \r", end="", file=sys.stderr, flush=True)
        await asyncio.sleep(0.1)
