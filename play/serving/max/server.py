"""Start MAX's model worker and its application, with this course's architecture, behind our own front.

MAX's entry point starts its application and the process that runs the model together, and ends both together. Here the
application is made anew for each such process, and what takes connections outlives it: so it can answer while the model
gets ready, and after the process has ended.

A trick, ``gc``: Python collects no cycles in what a server has imported.
"""

from __future__ import annotations

import functools
import gc
import importlib
import logging
import multiprocessing
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any, cast

import uvloop
from max.driver import DeviceSpec, accelerator_count
from max.serve.config import Settings
from max.serve.telemetry.metrics import SERVE_METRICS, MaxMeasurement, MetricClient
from max.serve.telemetry.process_controller import ProcessMetricClient
from opentelemetry.metrics import _Gauge as Gauge
from prometheus_client import REGISTRY
from starlette.types import ASGIApp

from checker.device import DeviceKind
from checker.errors import UserError
from checker.files import ROOT
from play.mine import stand_ins
from play.serving.front import Front
from play.serving.keys import Keys
from play.serving.life import GIVEN_UP, live, temporary_folder
from play.serving.max.process import ModelProcess
from play.serving.options import ServerOptions
from play.serving.request_log import write_as_json
from play.serving.served_checkpoint import Checkpoint
from play.serving.service import ModelEnded, Service
from play.serving.validation import MOST_CHOICES, ModelLimits
from play.startup import Tell

SOCKET = 43  # characters that MAX wants for the name of a socket
ENVIRONMENT = {  # of this process and of those that MAX starts
    "HF_HUB_OFFLINE": "1",  # the checkpoint is a local folder by now
    "MAX_SERVE_API_TYPES": '["openai"]',
    "MAX_SERVE_DISABLE_TELEMETRY": "1",  # nothing is sent to MAX's makers
    "MAX_SERVE_METRIC_RECORDING_METHOD": "PROCESS",  # with which the model's process measures, too
    "TOKENIZERS_PARALLELISM": "false",
}


class Meter(MetricClient):
    """Takes MAX's measurements, which become its figures at ``/metrics``.

    In the server's process, it commits them at once; the process that runs the model sends them there through a queue.
    """

    def __init__(self) -> None:
        self.queue: Any = multiprocessing.get_context("spawn").Queue()
        self.gauges: dict[tuple[str, str], MaxMeasurement] = {}  # the last of each
        threading.Thread(target=self._send_batches, daemon=True).start()
        REGISTRY.register(self)

    def _send_batches(self) -> None:
        while True:
            for measurement in self.queue.get():
                self.send_measurement(measurement)

    def send_measurement(self, metric: MaxMeasurement) -> None:
        """Take one measurement."""
        if isinstance(SERVE_METRICS[metric.instrument_name], Gauge):
            self.gauges[metric.instrument_name, str(metric.attributes)] = metric
        metric.commit()

    def collect(self) -> tuple[()]:
        """Set every gauge again, at each scrape: MAX's reader forgets a gauge once it has read it."""
        for metric in list(self.gauges.values()):
            metric.commit()
        return ()

    def cross_process_factory(self, settings: Settings) -> Callable[[], AbstractAsyncContextManager[MetricClient]]:
        """Return the function that makes the client of the process that runs the model."""
        return functools.partial(_client_of_the_model, self.queue, settings.structured_logging)


@functools.cache
def _meter() -> Any:
    return nullcontext(Meter())  # not before a signal ends the server in order: it has semaphores


@asynccontextmanager
async def _client_of_the_model(queue: Any, log_json: bool) -> AsyncIterator[MetricClient]:
    """Make the client of the process that runs the model, whose log lines are JSON if the server's are."""
    if log_json:
        write_as_json(logging.getLogger())
    yield ProcessMetricClient(queue)


class Served:
    """A checkpoint that is served: it starts the process of its model, and the application that asks the model.

    Args:
        options: how it is served.
        checkpoint: the model.
        keys: one of which a request needs, if there are any.

    Raises:
        UserError: there is no such device.
    """

    def __init__(self, options: ServerOptions, checkpoint: Checkpoint, keys: Keys | None) -> None:
        if options.device is DeviceKind.GPU and not accelerator_count():
            raise UserError("there is no GPU that MAX can use here; leave --device out to serve from the CPU")
        self.options, self.checkpoint, self.settings = options, checkpoint, prepare_server(options)
        self.service = Service(options.batch, options.queue, options.time_limit)
        self.front = Front(self.service, self._limits()).app(keys)
        self.pipeline = self._pipeline()

    def _limits(self) -> ModelLimits:
        """Return what the model can answer."""
        model, most = self.checkpoint, min(MOST_CHOICES, self.options.batch + self.options.queue)
        longest = max(len(token.encode()) for token in model.tokenizer.get_vocab())
        encode_chat = model.encode_chat if model.answers else None
        return ModelLimits(model.name, model.n_positions, model.vocab_size, model.encode, longest, most, encode_chat)

    def _pipeline(self) -> Any:
        """Return MAX's settings for the model."""
        from max.pipelines.lib import PIPELINE_REGISTRY, PipelineArgs, PipelineConfig
        from max.pipelines.modeling.types import PipelineTask
        from max.serve.api_server import ServingTokenGeneratorSettings

        module = f"play.serving.max.{self.checkpoint.architecture}"
        importlib.import_module(module)  # MAX would put an error of its own for one in a step
        architectures = [f"{ROOT}:{module}"]
        arguments = PipelineArgs.from_flat_kwargs(
            model_path=str(self.checkpoint.folder),
            weight_path=self.checkpoint.files,  # steps 13 and 26 read them: whatever they are stored as,
            quantization_encoding="float32",  # the model gets float32
            served_model_name=self.checkpoint.name,
            task=PipelineTask.TEXT_GENERATION,
            device_specs=[DeviceSpec.cpu() if self.options.device is DeviceKind.CPU else DeviceSpec.accelerator()],
            max_length=self.checkpoint.n_positions,
            max_batch_size=self.options.batch,
            enable_prefix_caching=not self.options.no_prefix_cache,
            custom_architectures=architectures,
        )
        PIPELINE_REGISTRY._import_custom_architectures(architectures)
        config = PipelineConfig.from_args(arguments)
        model = PIPELINE_REGISTRY.retrieve_factory(config, task=PipelineTask.TEXT_GENERATION)
        return ServingTokenGeneratorSettings(model.factory, config, model.tokenizer, memory_plan=model.memory_plan)

    @asynccontextmanager
    async def model(self) -> AsyncIterator[ASGIApp]:
        """Run MAX's model worker while this is open, and yield the application that asks it.

        Raises:
            ModelEnded: the worker ended by itself.
        """
        from max.serve import api_server
        from max.serve.process_control import SubprocessExit

        with temporary_folder(SOCKET):
            app = api_server.fastapi_app(self.settings, self.pipeline)
            try:
                async with api_server.lifespan(app, self.settings, self.pipeline, app.state.zmq_endpoint_base):
                    gc.freeze()  # else Python scans all objects of MAX now and then, and answers nothing for a second
                    yield app
            except (SubprocessExit, RuntimeError, ExceptionGroup) as ended:  # the others if it was not ready yet
                raise ModelEnded(str(ended)) from None


def prepare_server(options: ServerOptions) -> Any:
    """Change, in this process, what MAX's server has no argument for, and return its settings; call it once.

    It sets the environment that MAX's settings and processes read, gives our client to what MAX measures, puts our
    writer of texts before MAX's, starts the model worker in a way of our own, and leaves it no time to end: it has
    nothing to save, and SIGTERM does not reach it.
    """
    for variable, value in ENVIRONMENT.items():
        os.environ.setdefault(variable, value)
    from max.serve import api_server, process_control
    from max.serve.telemetry.common import configure_logging, configure_metrics

    from play.serving.max.texts import Texts

    changed = cast(Any, api_server)
    changed.start_telemetry_consumer = lambda settings: _meter()
    changed.TokenGeneratorPipeline = Texts
    process_control._DebugSpawnProcess = ModelProcess  # type: ignore[assignment, misc]
    process_control._SIGTERM_GRACE = 0.0
    settings = Settings(
        MAX_SERVE_HOST=options.host,
        MAX_SERVE_PORT=options.port,
        MAX_SERVE_LOGS_CONSOLE_LEVEL="WARNING",
        MODULAR_STRUCTURED_LOGGING=options.log_json,
    )
    configure_logging(settings)
    if options.log_json:
        write_as_json(logging.getLogger())
    configure_metrics(settings)
    return settings


def serve(options: ServerOptions, checkpoint: Checkpoint, keys: Keys | None, tell: Tell) -> int:
    """Serve until a signal ends it, ``tell`` how far along it is, and return the exit status.

    Raises:
        UserError: the port is taken or is not a port, the host is not this machine's, or there is no such device.
    """
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        listening = socket.create_server((options.host, options.port), family=family)
    except (OSError, OverflowError, UnicodeError) as error:
        fault = f"{options.host}:{options.port} cannot be served at ({error})"
        raise UserError(f"{fault}; choose another --port or --host") from error
    with listening:
        served = Served(options, checkpoint, keys)
        host, port = options.host if family == socket.AF_INET else f"[{options.host}]", listening.getsockname()[1]
        tell(f"MAX gets {checkpoint.name} ready; if it has not compiled this model before, that takes a few minutes")
        ready = f"ready at http://{host}:{port}/v1, where the model is called {checkpoint.name}; Ctrl-C ends it"
        keeping = served.service.keep(served.model, options.restart, tell, ready)
        status = uvloop.run(live(served.service, keeping, served.front, listening, options.grace, tell))
    if status == GIVEN_UP:
        tell("the process that runs the model ended; if it could say why, that is above")
        check_of_model = f"`./run {checkpoint.task}` checks the model itself"
        tell(stand_ins.where_to_look() if stand_ins.steps_by_file else check_of_model)
    return status
