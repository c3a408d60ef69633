"""The life of a server: the model gets ready, requests are answered, a signal ends it or the model's process does.

On the first SIGTERM or Ctrl-C the server drains: ``/ready`` fails at once, nothing new is taken, and what runs has some
seconds to finish. A second signal ends it at once. If the process that runs the model ends by itself, the requests in
it are answered, and the server ends too, for its supervisor to start it again, or starts the model again itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from play.serving.front.answers import LATER, SOON, App
from play.serving.front.running import Running
from play.serving.front.standing import Standing

SIGNALS = (signal.SIGTERM, signal.SIGINT)
LOOK_SECONDS = 0.05  # between two looks at whether all requests have ended
LAST_WORDS_SECONDS = 1.0  # for a request that is ended to tell its client
OUT_OF_TIME = "this server ended before the request did; send it again"
MODEL_ENDED = "the process that runs the model ended while it ran this request; send it again"
GIVEN_UP = 1  # the exit status if the model could not go on


class ModelEnded(Exception):
    """The process that runs the model ended, and nobody had asked it to."""


class Listening(Protocol):
    """What takes connections: uvicorn's server."""

    should_exit: bool
    force_exit: bool

    async def serve(self) -> None:
        """Take connections until ``should_exit``, and then answer what is running."""


@dataclass(frozen=True)
class Life:
    """A server that lives once.

    Args:
        standing: whether requests are taken.
        running: the requests that run.
        model: starts the process that runs the model, and ends it; raises :class:`ModelEnded` if it ends by itself.
        grace: seconds that running requests have after a first signal.
        restart: start the model again if it ends after it was ready.
        tell: says how far along the server is.
        ready: is called once the model can be asked.
    """

    standing: Standing
    running: Running
    model: Callable[[], AbstractAsyncContextManager[App]]
    grace: float
    restart: bool
    tell: Callable[[str], None]
    ready: Callable[[], None]

    async def live(self, server: Listening) -> int:
        """Serve until a signal comes or the model ends; return the exit status."""
        with _signals() as signals:
            listening = asyncio.create_task(server.serve())
            model = asyncio.create_task(self._keep_model())
            asked = asyncio.create_task(signals.get())
            await asyncio.wait({listening, model, asked}, return_when=asyncio.FIRST_COMPLETED)
            if model.done() or listening.done():
                status = GIVEN_UP
            else:
                status = await self._drain(signals)
                server.force_exit = status != 0
            server.should_exit = True
            await listening
            asked.cancel()
            model.cancel()
            with contextlib.suppress(asyncio.CancelledError, ModelEnded):
                await model
        return status

    async def _keep_model(self) -> None:
        while True:
            try:
                async with self.model() as app:
                    self.standing.open(app)
                    self.ready()
                    await asyncio.Event().wait()  # until it ends, or is ended
            except ModelEnded as ended:
                again = self.restart and self.standing.app is not None and not self.standing.draining
                self.standing.close(f"the process that runs the model ended{', and is started again' * again}")
                self.running.end_all(MODEL_ENDED, LATER)
                if not again:  # nor if it never was ready: it would not be the next time
                    raise
                self.standing.restarts += 1
                self.tell(f"the process that runs the model ended ({ended}); it is started again")

    async def _drain(self, signals: asyncio.Queue[int]) -> int:
        """Take nothing new, and wait for what runs; return the exit status."""
        self.standing.drain()
        if count := len(self.running.runs):
            running = f"what runs has finished ({count} now), after {self.grace:g} s at the latest"
            self.tell(f"nothing new is taken; this ends once {running}. A second signal ends it at once")
        second = asyncio.create_task(signals.get())
        await self._wait_until_none_runs(self.grace, second)
        self.running.end_all(OUT_OF_TIME, SOON)
        await self._wait_until_none_runs(LAST_WORDS_SECONDS)
        if second.done():
            return 128 + second.result()
        second.cancel()
        return 0

    async def _wait_until_none_runs(self, seconds: float, second: asyncio.Task[int] | None = None) -> None:
        """Wait for the end of all requests, for so long at most, and not beyond a second signal."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.running.runs and not (second and second.done()):
                    await asyncio.sleep(LOOK_SECONDS)


@contextlib.contextmanager
def _signals() -> Iterator[asyncio.Queue[int]]:
    """Put the signals that come into a queue, while this is open."""
    loop, came = asyncio.get_running_loop(), asyncio.Queue[int]()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        loop.add_signal_handler(number, came.put_nowait, int(number))
    try:
        yield came
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)  # which leaves Python's own handler, with which MAX is slow
            signal.signal(number, handler)
