"""Several replicas of the server in Ray Serve, each with a model and a cache of its own.

Ray's proxy takes connections and gives each request to one of two replicas drawn at random, the one with fewer. A
replica has the whole front. Ray replaces it when its process is killed, or when its model's process ends and is not
started again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from typing import Any

import ray
from ray import serve
from ray.exceptions import RayError
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from checker.course.steps import ROOT
from checker.errors import UserError
from play.serving import records
from play.serving.keys import Keys
from play.serving.life import finish, received_signals
from play.serving.options import OF_THE_MODEL, Options, Tell, choose_modules

NAME = "gpt2"  # of the application, and of its deployment
AT_ONCE = 10_000  # requests that Ray gives a replica, which says itself when its queue is full
LOOK_SECONDS = 2  # between two looks of Ray's at a replica
LAST_SECONDS = 10.0  # in which a replica ends after its grace
OBJECTS = 100 << 20  # bytes; Ray takes a third of the memory if it is not told, and requests are small
QUIET = {"enable_access_log": False, "log_level": "WARNING"}  # each replica has a log of its own


class Replica:
    """One replica: the server's application without its port.

    Args:
        options: what it serves, and how.
        keys: one of which a request needs, if there are any.
        tell: says how far along it is.
    """

    # Ray awaits it
    async def __init__(self, options: Options, keys: Keys | None, tell: Tell) -> None:  # type: ignore[misc]
        choose_modules()
        from play.serving.max.server import Served

        if options.log_json:
            records.log_as_json()
        served = Served(options, keys)
        self.service, self.front, self.grace = served.service, served.front, options.grace
        self.model = asyncio.create_task(self.service.keep(served.model, options.restart, tell, "a replica is ready"))
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

            await self.front(scope, receive, sending)

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


def serve_replicas(options: Options, keys: Keys | None, tell: Tell) -> int:
    """Serve on this machine, or on the cluster that ``RAY_ADDRESS`` names, until a signal ends it.

    Args:
        options: of each replica; they share the host and the port.
        keys: one of which a request needs, if there are any.
        tell: tells the user how far along it is.

    Returns:
        The exit status.

    Raises:
        UserError: Ray or a replica cannot be started.
    """
    variables = {"PYTHONPATH": str(ROOT), OF_THE_MODEL: os.environ[OF_THE_MODEL]}
    address = os.environ.get("RAY_ADDRESS", "local")
    alone: Any = {"include_dashboard": False, "object_store_memory": OBJECTS} if address == "local" else {}
    deployment: Any = serve.deployment(
        serve.ingress()(Replica),
        name=NAME,
        num_replicas=options.replicas,
        ray_actor_options={"num_cpus": 0, "num_gpus": int(options.device == "gpu")},
        max_ongoing_requests=AT_ONCE,
        health_check_period_s=LOOK_SECONDS,
        graceful_shutdown_timeout_s=LAST_SECONDS,
        max_constructor_retry_count=1,
        logging_config=QUIET,
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        tell(f"Ray starts {options.replicas} replicas; each gets its model ready first")
        ray.init(address, logging_level=logging.WARNING, runtime_env={"env_vars": variables}, **alone)
        serve.start(http_options={"host": options.host, "port": options.port}, logging_config=QUIET)
        serve.run(deployment.bind(options, keys, tell), name=NAME)
        host = f"[{options.host}]" if ":" in options.host else options.host
        tell(f"{options.replicas} replicas are ready at http://{host}:{options.port}/v1; Ctrl-C ends them")
        return asyncio.run(_live(options.grace, tell))
    except KeyboardInterrupt:  # before they were ready
        return 0
    except (RuntimeError, TimeoutError, RayError) as problem:
        raise UserError((str(problem).strip() or type(problem).__name__).splitlines()[0]) from problem
    finally:
        if ray.is_initialized():
            serve.shutdown()
            ray.shutdown()


async def _live(grace: float, tell: Tell) -> int:
    """Wait for a signal, have every replica finish what it has, and return the exit status."""
    signals = received_signals()
    await signals.get()
    draining = serve.get_app_handle(NAME).broadcast("drain").results_async()
    return await finish(asyncio.wait_for(draining, grace + LAST_SECONDS), signals, grace, tell)
