"""Several replicas of the server in Ray Serve, each with a model and a cache of its own.

Ray's proxy takes connections and gives each request to one of two replicas drawn at random, the one with fewer. A
replica has the whole front. Ray replaces it when its process is killed, or when its model's process ends and is not
started again.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import ray
from ray import serve
from ray.exceptions import RayError
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from checker.course.paths import ROOT
from play.serving import records
from play.serving.keys import Keys
from play.serving.life import received_signals
from play.serving.options import KERNELS, MODULES, QUANTIZE, CannotServe, Options, choose_modules
from play.serving.service import error

NAME = "gpt2"  # of the application, and of its deployment
AT_ONCE = 10_000  # requests that Ray gives a replica, which says itself when its queue is full
LOOK_SECONDS = 2  # between two looks of Ray's at a replica
LAST_SECONDS = 10.0  # in which a replica ends after its grace
OBJECTS = 100 << 20  # bytes; Ray takes a third of the memory if it is not told, and requests are small
NO_METRICS = "each replica counts for itself, so there are no figures of all of them; --log-json logs every request"
QUIET = {"enable_access_log": False, "log_level": "WARNING"}  # each replica has a log of its own


class Replica:
    """One replica: the server's application without its port.

    Args:
        options: what it serves, and how.
        keys: one of which a request needs, if there are any.
    """

    async def __init__(self, options: Options, keys: Keys | None) -> None:  # type: ignore[misc]  # Ray awaits it
        choose_modules()
        from play.serving.max.server import Served

        tell: Callable[[str], None] = functools.partial(print, "serve:", file=sys.stderr, flush=True)
        if options.log_json:
            records.log_as_json()
            tell = records.LOGGER.info
        served, ready = Served(options, keys), functools.partial(tell, "a replica is ready")
        self.service, self.front, self.grace = served.service, served.front, options.grace
        self.model = asyncio.create_task(self.service.keep(served.model, options.restart, tell, ready))
        opened = asyncio.create_task(self.service.opened.wait())
        await asyncio.wait({self.model, opened}, return_when=asyncio.FIRST_COMPLETED)
        await self.check_health()

    def __serve_build_asgi_app__(self) -> ASGIApp:
        """Return the application; Ray calls this once the replica is made."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            """Answer a request. Ray's proxy chooses its id, and puts that into the answer."""

            async def sending(message: Message) -> None:
                if message["type"] == "http.response.start":
                    del MutableHeaders(scope=message)[records.ID]
                await send(message)

            metrics = scope["type"] == "http" and scope["path"] == "/metrics"
            app = JSONResponse(error(404, NO_METRICS), 404) if metrics else self.front
            await app(scope, receive, sending)

        return answer

    async def check_health(self) -> None:
        """Raise if the model has ended and is not started again, so that Ray replaces this replica.

        Raises:
            ModelEnded: it has.
        """
        if self.model.done():
            self.model.result()

    async def drain(self) -> None:
        """Take nothing new, and return once all that runs here has its answer or its time is over."""
        await self.service.drain(self.grace)


def serve_replicas(count: int, options: Options, keys: Keys | None, tell: Callable[[str], None]) -> int:
    """Serve on this machine, or on the cluster that ``RAY_ADDRESS`` names, until a signal ends it.

    Args:
        count: how many replicas.
        options: of each of them; they share the host and the port.
        keys: one of which a request needs, if there are any.
        tell: tells the user how far along it is.

    Returns:
        The exit status.

    Raises:
        CannotServe: Ray or a replica cannot be started.
    """
    variables = {name: os.environ[name] for name in (MODULES, KERNELS, QUANTIZE) if name in os.environ}
    address = os.environ.get("RAY_ADDRESS", "local")
    alone: Any = {"include_dashboard": False, "object_store_memory": OBJECTS} if address == "local" else {}
    deployment: Any = serve.deployment(
        serve.ingress()(Replica),
        name=NAME,
        num_replicas=count,
        ray_actor_options={"num_cpus": 0, "num_gpus": int(options.device == "gpu")},
        max_ongoing_requests=AT_ONCE,
        health_check_period_s=LOOK_SECONDS,
        graceful_shutdown_timeout_s=LAST_SECONDS,
        max_constructor_retry_count=1,
        logging_config=QUIET,
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        tell(f"Ray starts {count} replicas; each gets its model ready first")
        environment = {"env_vars": {"PYTHONPATH": str(ROOT), **variables}}
        ray.init(address, logging_level=logging.WARNING, runtime_env=environment, **alone)
        serve.start(http_options={"host": options.host, "port": options.port}, logging_config=QUIET)
        serve.run(deployment.bind(options, keys), name=NAME)
        tell(f"{count} replicas are ready at http://{options.host}:{options.port}/v1; Ctrl-C ends them")
        return asyncio.run(_live(options.grace, tell))
    except KeyboardInterrupt:  # before they were ready
        return 0
    except (RuntimeError, TimeoutError, RayError) as problem:
        raise CannotServe((str(problem).strip() or type(problem).__name__).splitlines()[0]) from problem
    finally:
        if ray.is_initialized():
            serve.shutdown()
            ray.shutdown()


async def _live(grace: float, tell: Callable[[str], None]) -> int:
    """Wait for a signal, have every replica finish what it has, and return the exit status; a second one ends that."""
    with received_signals() as signals:
        await signals.get()
        tell(f"nothing new is taken; what runs has {grace:g} s to finish. A second signal ends it at once")
        drained = asyncio.ensure_future(serve.get_app_handle(NAME).broadcast("drain").results_async())
        second = asyncio.create_task(signals.get())
        await asyncio.wait({drained, second}, timeout=grace + LAST_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        return 128 + second.result() if second.done() else 0
