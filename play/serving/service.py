"""One model's service: who is let in to it, an end for every request, and what happens when the model's process ends.

So many texts run at once, so many wait, and a request that comes then is told to come again. A request may run too
long, the process that runs the model may end, and the server may have to end before the request does. In each case the
client is told: by a status, if the answer has not begun, and by an error event, if it is a stream, which has begun with
status 200.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from play.serving.request_log import CURRENT
from play.startup import Tell

RETRY_AFTER = {429: "1", 503: "5"}  # seconds after which to ask again: for a place, and for a server that gets ready
LOOK_SECONDS = 0.05  # between two looks at whether all requests have ended
LAST_WORDS_SECONDS = 1.0  # for a request that is ended to tell its client
QUICK_SECONDS = 60.0  # a model that ends sooner after it was ready has ended quickly
PAUSES = (0.0, 1.0, 5.0, 30.0)  # seconds before a model is started again that ended quickly once, twice … in a row
STARTING = "the model is getting ready"
DRAINING = "this server is about to end and takes no new request; send it to another one"
OUT_OF_TIME = "this server ended before the request did; send it again"
MODEL_ENDED = "the process that runs the model ended while it ran this request; send it again"

StartModel = Callable[[], AbstractAsyncContextManager[ASGIApp]]  # starts the model's process; yields what asks it


class ModelEnded(Exception):
    """The process that runs the model ended, and nobody had asked it to."""


def refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return an error as OpenAI's interface has it, with the header that says when to ask again if that may help."""
    kind = "invalid_request_error" if status < 500 else "api_error"
    content = {"error": {"message": message, "type": kind, "param": None, "code": str(status)}}
    again = {"retry-after": RETRY_AFTER[status]} if status in RETRY_AFTER else {}
    return JSONResponse(content, status, {**again, **(headers or {})})


class Service:
    """Hands requests to the application of the model that runs now, while there is one and there are places.

    Args:
        batch: texts that run at once. The model takes them in the order in which they came.
        queue: texts that wait.
        seconds: how long a request may take.
    """

    def __init__(self, batch: int, queue: int, seconds: float) -> None:
        self.batch, self.queue, self.seconds = batch, queue, seconds
        self.app: ASGIApp | None = None
        self.reason = STARTING  # as long as there is no application
        self.first_ready = asyncio.Event()  # set once the model can be asked, and from then on
        self.draining = False
        self.places_taken = 0
        self.runs: dict[asyncio.Timeout, str] = {}  # the clock of each request that runs: why it is ended early, if so

    @property
    def running(self) -> int:
        """How many texts are in the batch, or about to be; the other places are taken by those that wait."""
        return min(self.places_taken, self.batch)

    def obstacle(self) -> str:
        """Return why no request can be taken now, or nothing if it can."""
        if self.draining:
            return DRAINING
        return self.reason if self.app is None else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a valid request.

        Raises:
            HTTPException: the model cannot be asked, there are too few places now, or there will never be enough.
        """
        record, clock, ended = CURRENT.get(), asyncio.timeout(self.seconds), ""
        if self.app is None or self.draining:
            raise HTTPException(503, self.obstacle())
        places = self.batch + self.queue
        if record.texts > places:
            many = f"this request asks for {record.texts} texts, and this server takes {places} at once"
            raise HTTPException(400, f"{many}; split the request")
        if self.places_taken + record.texts > places:
            waiting = self.places_taken - self.running
            raise HTTPException(429, f"{self.running} texts run and {waiting} wait, and no more are taken; ask again")
        self.places_taken += record.texts
        try:
            async with clock:
                self.runs[clock] = ""
                await self.app(scope, receive, send)
        except Exception:  # TimeoutError, or what the application makes of being stopped
            if not clock.expired():
                raise
        finally:
            self.places_taken -= record.texts
            ended = self.runs.pop(clock, "")
        if clock.expired() and not record.complete:
            too_long = f"the request took longer than {self.seconds:g} s; ask for fewer tokens, or when less is asked"
            record.ended, record.error = ended or too_long, 503 if ended else 504
            answer = refusal(record.error, record.ended)
            if not record.status:
                await answer(scope, receive, send)
            elif record.stream:  # the half of any other answer is cut off
                await send({"type": "http.response.body", "body": b"data: " + bytes(answer.body) + b"\n\n"})

    def end_all(self, reason: str) -> None:
        """End every request that runs, with status 503."""
        for clock, ended in self.runs.items():
            if not (ended or clock.expired()):
                self.runs[clock] = reason
                clock.reschedule(0.0)  # long past

    async def keep(self, model: StartModel, restart: bool, tell: Tell, ready: str) -> None:
        """Run the model until this is canceled.

        Args:
            model: starts the process that runs the model, and ends it; raises :class:`ModelEnded` if it ends by itself.
            restart: start the model again if it ends after it was ready, unless it did so quickly too often in a row.
            tell: says how far along the server is.
            ready: what to tell once the model can be asked.

        Raises:
            ModelEnded: it ended, and is not started again.
        """
        quick_ends = 0  # in a row
        while True:
            ready_at: float | None = None
            try:
                async with model() as app:
                    self.app = app
                    ready_at = time.monotonic()
                    self.first_ready.set()
                    tell(ready)
                    await asyncio.Event().wait()  # until it ends, or is ended
            except ModelEnded as ended:
                self.app = None
                was_ready = ready_at is not None
                if ready_at is not None and time.monotonic() - ready_at < QUICK_SECONDS:
                    quick_ends += 1
                else:
                    quick_ends = 0
                too_often = quick_ends > len(PAUSES)
                again = restart and was_ready and not self.draining and not too_often
                self.reason = "the process that runs the model ended"
                if again:
                    self.reason += ", and is started again"
                self.end_all(MODEL_ENDED)
                if too_often:
                    tell(f"it ended {quick_ends} times in a row within {QUICK_SECONDS:g} s of being ready")
                if not again:  # nor if it never was ready: it would not be the next time
                    raise
                pause = PAUSES[quick_ends - 1] if quick_ends else 0.0
                in_seconds = f" in {pause:g} s" if pause else ""
                tell(f"the process that runs the model ended ({ended}); it is started again{in_seconds}")
                await asyncio.sleep(pause)

    async def drain(self, grace: float) -> None:
        """Take no new request, and return once each running one has its answer, or has been told that there is none.

        Args:
            grace: seconds that running requests have.
        """
        self.draining = True
        await self._until_none_runs(grace)
        self.end_all(OUT_OF_TIME)
        await self._until_none_runs(LAST_WORDS_SECONDS)

    async def _until_none_runs(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.runs:
                    await asyncio.sleep(LOOK_SECONDS)
