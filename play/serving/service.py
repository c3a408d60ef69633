"""One model's service: who is let in to it, an end for every request, and what happens when the model's process ends.

So many texts run at once, so many wait, and a request that comes then is told to come again. A request may run too
long, the process that runs the model may end, and the server may have to end before the request does. In each case the
client is told: by a status, if the answer has not begun, and by an error event, if it is a stream, which has begun with
status 200.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from play.serving.records import CURRENT

SOON, LATER = 1, 5  # seconds after which to ask again: for a place, and for a server that gets ready
STUCK_SECONDS = 300.0  # without a batch while texts wait for one; the longest prompts of a large model take less
LOOK_SECONDS = 0.05  # between two looks at whether all requests have ended
LAST_WORDS_SECONDS = 1.0  # for a request that is ended to tell its client
STARTING = "the model is getting ready"
DRAINING = "this server is about to end and takes no new request; send it to another one"
OUT_OF_TIME = "this server ended before the request did; send it again"
MODEL_ENDED = "the process that runs the model ended while it ran this request; send it again"
KINDS = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}

Model = Callable[[], AbstractAsyncContextManager[ASGIApp]]  # starts the model's process; yields what asks it


class ModelEnded(Exception):
    """The process that runs the model ended, and nobody had asked it to."""


def error(status: int, message: str) -> dict[str, Any]:
    """Return an error as OpenAI's interface has it."""
    kind = KINDS.get(status, "invalid_request_error" if status < 500 else "api_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": str(status)}}


def retry_after(seconds: int) -> dict[str, str]:
    """Return the header that says when to ask again."""
    return {"retry-after": str(seconds)}


class Service:
    """Hands requests to the application of the moment, while there is one and there are places.

    Args:
        batch: texts that run at once. The model takes them in the order in which they came.
        queue: texts that wait.
        seconds: how long a request may take.
        last_batch: returns when the model last ran a batch, by ``time.monotonic()``.
    """

    def __init__(self, batch: int, queue: int, seconds: float, last_batch: Callable[[], float] = lambda: 0.0) -> None:
        self.batch, self.queue, self.seconds, self.last_batch = batch, queue, seconds, last_batch
        self.app: ASGIApp | None = None
        self.why = STARTING  # as long as there is no application
        self.opened = asyncio.Event()  # the model was ready once
        self.draining = False
        self.restarts = 0
        self.taken = 0  # places
        self.busy_since = 0.0  # by time.monotonic(): since then, there has always been a text
        #: By the clock of each request that runs, why it is ended before its time, and when to ask again.
        self.runs: dict[asyncio.Timeout, tuple[str, int] | None] = {}

    @property
    def running(self) -> int:
        """How many texts are in the batch, or about to be; the other places are taken by those that wait."""
        return min(self.taken, self.batch)

    def obstacle(self) -> tuple[str, int] | None:
        """Return why no request can be taken now, and after how many seconds to ask again; nothing if it can."""
        if self.draining:
            return DRAINING, SOON
        return (self.why, LATER) if self.app is None else None

    def stuck(self) -> tuple[str, int] | None:
        """Return why no request should be sent, if the model has stopped and its process has not."""
        seconds = time.monotonic() - max(self.last_batch(), self.busy_since)
        if not self.taken or seconds <= STUCK_SECONDS:
            return None
        return f"the model has run nothing for {seconds:.0f} s, and texts wait", LATER

    @contextlib.contextmanager
    def _places(self, texts: int) -> Iterator[None]:
        """Take a place for each text while this is open.

        Raises:
            HTTPException: the model cannot be asked, or there are too few places.
        """
        if obstacle := self.obstacle():
            raise HTTPException(503, obstacle[0], retry_after(obstacle[1]))
        if self.taken + texts > self.batch + self.queue:
            full = f"{self.running} texts run and {self.taken - self.running} wait, and no more are taken; ask again"
            raise HTTPException(429, full, retry_after(SOON))
        self.busy_since = self.busy_since if self.taken else time.monotonic()
        self.taken += texts
        try:
            yield
        finally:
            self.taken -= texts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a valid request.

        Raises:
            HTTPException: it is not taken.
        """
        record, clock = CURRENT.get(), asyncio.timeout(self.seconds)
        with self._places(record.texts):
            assert self.app is not None, "else there is an obstacle"
            try:
                async with clock:
                    self.runs[clock] = None
                    await self.app(scope, receive, send)
            except Exception:  # TimeoutError, or what the application makes of being stopped
                if not clock.expired():
                    raise
            finally:
                end = self.runs.pop(clock, None)
        if clock.expired() and not record.complete:
            too_long = f"the request took longer than {self.seconds:g} s; ask for fewer tokens, or when less is asked"
            record.ended, wait = end or (too_long, 0)
            record.error = 503 if end else 504
            content = error(record.error, record.ended)
            if not record.status:
                headers = retry_after(wait) if wait else {}
                await JSONResponse(content, record.error, headers)(scope, receive, send)
            elif record.stream:  # the half of any other answer is cut off
                await send({"type": "http.response.body", "body": b"data: " + json.dumps(content).encode() + b"\n\n"})

    def end_all(self, why: str, wait: int) -> None:
        """End every request that runs, with status 503."""
        for clock, end in self.runs.items():
            if not (end or clock.expired()):
                self.runs[clock] = why, wait
                clock.reschedule(0.0)  # long past

    async def keep(self, model: Model, restart: bool, tell: Callable[[str], None], ready: Callable[[], None]) -> None:
        """Run the model until this is canceled.

        Args:
            model: starts the process that runs the model, and ends it; raises :class:`ModelEnded` if it ends by itself.
            restart: start the model again if it ends after it was ready.
            tell: says how far along the server is.
            ready: is called once the model can be asked.

        Raises:
            ModelEnded: it ended, and is not started again.
        """
        while True:
            try:
                async with model() as self.app:
                    self.opened.set()
                    ready()
                    await asyncio.Event().wait()  # until it ends, or is ended
            except ModelEnded as ended:
                again = restart and self.app is not None and not self.draining
                self.why = f"the process that runs the model ended{', and is started again' * again}"
                self.app = None
                self.end_all(MODEL_ENDED, LATER)
                if not again:  # nor if it never was ready: it would not be the next time
                    raise
                self.restarts += 1
                tell(f"the process that runs the model ended ({ended}); it is started again")

    async def drain(self, grace: float, hurry: asyncio.Future[Any] | None = None) -> None:
        """Take nothing new, and return once all that runs has its answer or has been told that there is none.

        Args:
            grace: seconds that running requests have.
            hurry: is done when they have no more.
        """
        self.draining = True
        await self._until_none_runs(grace, hurry)
        self.end_all(OUT_OF_TIME, SOON)
        await self._until_none_runs(LAST_WORDS_SECONDS)

    async def _until_none_runs(self, seconds: float, hurry: asyncio.Future[Any] | None = None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.runs and not (hurry and hurry.done()):
                    await asyncio.sleep(LOOK_SECONDS)
