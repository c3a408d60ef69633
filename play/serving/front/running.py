"""An end for every request that was taken: its answer, or an error that says why there is none.

A request may run too long, the process that runs the model may end, and the server may have to end before the request
does. In each case the request is stopped, and its client is told: by a status, if the answer has not begun, and by an
error event, if it is a stream, which has begun with status 200.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from play.serving.front.answers import CLOSE, Message, Receive, Scope, Send, event, refuse, retry_after
from play.serving.front.recording import CURRENT
from play.serving.front.standing import Standing


@dataclass(eq=False)
class Run:
    """One request that the model's application answers."""

    clock: asyncio.Timeout
    status: int  # of the error, if the clock ends the request
    why: str
    wait: int = 0  # seconds after which to ask again
    stopped: bool = False  # the clock was told to ring
    started: bool = False  # the answer's status is on its way
    stream: bool = False
    finished: bool = False


class Running:
    """Hands requests to the application of the moment, and ends each in an orderly way.

    Args:
        standing: has the application.
        seconds: how long a request may take.
    """

    def __init__(self, standing: Standing, seconds: float) -> None:
        self.standing, self.seconds = standing, seconds
        self.runs: set[Run] = set()

    def end_all(self, why: str, wait: int) -> None:
        """End every request that runs, with status 503."""
        for run in self.runs:
            if not (run.stopped or run.clock.expired()):
                run.stopped, run.status, run.why, run.wait = True, 503, why, wait
                run.clock.reschedule(0.0)  # long past

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, which was admitted just now."""
        app = self.standing.app
        assert app is not None, "only what is admitted comes here"
        too_long = f"the request took longer than {self.seconds:g} s; ask for fewer tokens, or when less is asked"
        run = Run(asyncio.timeout(self.seconds), 504, too_long)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message.get("headers", [])
                run.started = True
                run.stream = any(value.startswith(b"text/event-stream") for name, value in headers)
                if self.standing.draining:
                    message = {**message, "headers": [*headers, CLOSE]}
            else:
                run.finished = not message.get("more_body")
            await send(message)

        try:
            async with run.clock:
                self.runs.add(run)
                await app(scope, receive, sending)
        except Exception:  # TimeoutError, or what the application makes of being stopped
            if not run.clock.expired():
                raise
        finally:
            self.runs.discard(run)
        if run.clock.expired() and not run.finished:
            record = CURRENT.get()
            record.ended, record.error = run.why, run.status
            await _say(run, send)


async def _say(run: Run, send: Send) -> None:
    """Tell the client of a run that it was ended. A half of an answer that is no stream is cut off."""
    if not run.started:
        await refuse(send, run.status, run.why, [retry_after(run.wait)] if run.wait else [])
    elif run.stream:
        await send({"type": "http.response.body", "body": event(run.status, run.why)})
