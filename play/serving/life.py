"""The life of a server: the model gets ready, requests are answered, a signal ends it or the model's process does.

On the first SIGTERM or Ctrl-C the server drains: ``/ready`` fails at once, nothing new is taken, and what runs has some
seconds to finish. A second signal ends it at once. If the process that runs the model ends by itself, the requests in
it are answered, and the server ends too, for its supervisor to start it again, or starts the model again itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import nullcontext
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from play.serving.service import ModelEnded, Service

SIGNALS = (signal.SIGTERM, signal.SIGINT)
LAST_SECONDS = 3  # in which the last answers reach clients, once all requests have ended
GIVEN_UP = 1  # the exit status if the model could not go on


def listener(app: ASGIApp, idle_seconds: int) -> uvicorn.Server:
    """Return what takes connections until ``should_exit``, and leaves signals to :func:`live`."""
    quiet: Any = {"log_config": None, "access_log": False, "lifespan": "off"}
    times: Any = {"timeout_graceful_shutdown": LAST_SECONDS, "timeout_keep_alive": idle_seconds}
    server = uvicorn.Server(uvicorn.Config(app, **quiet, **times))
    server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
    return server


async def live(
    service: Service,
    keeping: Coroutine[Any, Any, None],
    server: uvicorn.Server,
    taken: socket.socket,
    grace: float,
    tell: Callable[[str], None],
) -> int:
    """Serve until a signal comes or the model ends; return the exit status.

    Args:
        service: answers requests.
        keeping: runs its model until it is canceled (:meth:`Service.keep`).
        server: takes connections.
        taken: the socket at which it does.
        grace: seconds that running requests have after a first signal.
        tell: says how far along the server is.
    """
    with received_signals() as signals:
        listening, model = asyncio.create_task(server.serve([taken])), asyncio.create_task(keeping)
        asked = asyncio.create_task(signals.get())
        await asyncio.wait({listening, model, asked}, return_when=asyncio.FIRST_COMPLETED)
        status = GIVEN_UP
        if asked.done():
            if service.runs:
                running = f"what runs has finished ({len(service.runs)} now), after {grace:g} s at the latest"
                tell(f"nothing new is taken; this ends once {running}. A second signal ends it at once")
            second = asyncio.create_task(signals.get())
            await service.drain(grace, second)
            status = 128 + second.result() if second.done() else 0
            second.cancel()
            server.force_exit = status != 0
        server.should_exit = True
        await listening
        asked.cancel()
        model.cancel()
        with contextlib.suppress(asyncio.CancelledError, ModelEnded):
            await model
    return status


@contextlib.contextmanager
def received_signals() -> Iterator[asyncio.Queue[int]]:
    """Put the signals that come into a queue, while this is open."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[int]()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        loop.add_signal_handler(number, queue.put_nowait, int(number))
    try:
        yield queue
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)  # which leaves Python's own handler, with which MAX is slow
            signal.signal(number, handler)
