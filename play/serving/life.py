"""The life of a server: the model gets ready, requests are answered, a signal ends it or the model's process does.

On the first SIGTERM, SIGHUP or Ctrl-C the server drains: ``/ready`` fails at once, no new request is taken, and running
requests have some seconds to finish. A second signal ends the server at once. If the process that runs the model ends
by itself, its requests are answered with an error, and the server ends too, for its supervisor to start it again, or
starts the model again itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import tempfile
from collections.abc import Awaitable, Coroutine, Iterator
from contextlib import nullcontext
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from play.serving.connections import Connection
from play.serving.options import LARGEST_HEAD
from play.serving.service import ModelEnded, Service
from play.signals import not_ignored
from play.startup import Tell

LONGEST_ADDRESS = 107  # characters of a socket's path
LAST_SECONDS = 3  # in which the last answers reach clients, once all requests have ended
IDLE_SECONDS = 60  # that a connection is kept between two requests
GIVEN_UP = 1  # the exit status if the model could not go on


async def live(
    service: Service,
    keeping: Coroutine[Any, Any, None],
    app: ASGIApp,
    listening: socket.socket,
    grace: float,
    tell: Tell,
) -> int:
    """Serve until a signal comes or the model ends; return the exit status.

    Args:
        service: answers requests.
        keeping: runs its model until it is canceled (:meth:`Service.keep`).
        app: the application that clients see.
        listening: the socket at which connections come.
        grace: seconds that running requests have after a first signal.
        tell: says how far along the server is.
    """
    quiet: Any = {"log_config": None, "access_log": False, "lifespan": "off"}
    sizes: Any = {"http": Connection, "h11_max_incomplete_event_size": LARGEST_HEAD}
    times: Any = {"timeout_graceful_shutdown": LAST_SECONDS, "timeout_keep_alive": IDLE_SECONDS}
    server = uvicorn.Server(uvicorn.Config(app, **quiet, **sizes, **times))
    server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
    signals = received_signals()
    serving, model = asyncio.create_task(server.serve([listening])), asyncio.create_task(keeping)
    signaled = asyncio.create_task(signals.get())
    await asyncio.wait({serving, model, signaled}, return_when=asyncio.FIRST_COMPLETED)
    status = GIVEN_UP
    if signaled.done():
        status = await finish(service.drain(grace), signals, grace, tell)
        if status:
            await service.drain(0)
            server.force_exit = True
    server.should_exit = True
    await serving
    model.cancel()
    with contextlib.suppress(asyncio.CancelledError, ModelEnded):
        await model
    return status


async def finish(draining: Awaitable[Any], signals: asyncio.Queue[int], grace: float, tell: Tell) -> int:
    """Wait until a drain is over or another signal comes; return the exit status."""
    tell(f"nothing new is taken; what runs has {grace:g} s to finish. A second signal ends it at once")
    drained, second = asyncio.ensure_future(draining), asyncio.create_task(signals.get())
    await asyncio.wait({drained, second}, return_when=asyncio.FIRST_COMPLETED)
    return 128 + second.result() if second.done() else 0


def received_signals() -> asyncio.Queue[int]:
    """Return a queue of the signals that come from now on, as long as the loop runs."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[int]()
    for number in not_ignored():
        loop.add_signal_handler(number, queue.put_nowait, int(number))
    return queue


@contextlib.contextmanager
def temporary_folder(room: int) -> Iterator[str]:
    """While this is open, keep temporary files, also those of new processes, in a folder that is removed at the end.

    Args:
        room: characters that the path of a socket in it needs behind that of the folder.
    """
    variable, default = os.environ.get("TMPDIR"), tempfile.gettempdir()
    place = default if len(f"{default}/gpt2-12345678") + room <= LONGEST_ADDRESS else "/tmp"
    with tempfile.TemporaryDirectory(prefix="gpt2-", dir=place, ignore_cleanup_errors=True) as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        try:
            yield folder
        finally:
            tempfile.tempdir = default
            os.environ.pop("TMPDIR")
            if variable is not None:
                os.environ["TMPDIR"] = variable
