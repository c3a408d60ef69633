"""A record of every request, under an id that the client may choose; the log and the metrics are made of these."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

from play.serving.front.answers import App, Message, Receive, Scope, Send, header

ID = b"x-request-id"
CLIENT_LEFT = 499  # as nginx counts a request whose client went away first
LAST_EVENT = b"data: [DONE]"  # of a stream; a client that has it may hang up
MAY_BE_AN_ID = re.compile(rb"[\w.:=+/-]{1,128}", re.ASCII)  # nothing that could end a line of a log, or a header


@dataclass
class Record:
    """What is known of one request; the parts of the server fill it in as they learn it."""

    id: str
    method: str
    path: str
    began: float = field(default_factory=time.monotonic)
    status: int = 0  # of the answer; 0 if the client went away before there was one
    seconds: float = 0.0  # until the answer was complete, or the client had gone
    complete: bool = False  # the answer was sent to its end, and the client was there
    left: bool = False  # somebody noticed that the client had gone before that
    texts: int = 0  # how many the request asks for
    prompt_tokens: int = 0
    generated_tokens: int = 0
    first_token: float | None = None  # seconds until the first token was there
    ended: str = ""  # why the request was ended before its time
    error: int = 0  # the status that this has; a stream has begun with another one
    model_id: str = ""  # the id that MAX gave it, which MAX's own log has

    @property
    def outcome(self) -> int:
        """The status by which the request is counted, whatever its answer began with."""
        if self.error:
            return self.error
        return self.status if self.complete else CLIENT_LEFT


#: The record of the request that is being answered; in the tasks that MAX starts for it, too.
CURRENT: ContextVar[Record] = ContextVar("record")


class Recording:
    """Keeps a record of each request, gives the answer the request's id, and hands the record on at the end.

    Args:
        app: what answers.
        listeners: called with each record, once there is nothing to add.
    """

    def __init__(self, app: App, *listeners: Callable[[Record], None]) -> None:
        self.app, self.listeners = app, listeners

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        record = Record(_id_of(scope), scope["method"], scope["path"])
        CURRENT.set(record)  # for this task alone: each request has its own

        async def receiving() -> Message:
            message = await receive()
            record.left |= message["type"] == "http.disconnect" and not record.complete
            return message

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                record.model_id = (header(message, ID) or b"").decode("latin-1")
                kept = [pair for pair in message.get("headers", []) if pair[0].lower() != ID]
                message = {**message, "headers": [*kept, (ID, record.id.encode())]}
            elif not record.left:  # before it is sent: the client may hang up at once
                last = not message.get("more_body") or message.get("body", b"").rstrip().endswith(LAST_EVENT)
                record.complete |= last
            await send(message)

        try:
            await self.app(scope, receiving, sending)
        except Exception:
            if not (record.left or record.complete):
                record.error = 500  # so the server answers, or cuts off what has begun
            raise
        finally:
            record.seconds = time.monotonic() - record.began
            for listener in self.listeners:
                listener(record)


def _id_of(scope: Scope) -> str:
    given = header(scope, ID) or b""
    return given.decode() if MAY_BE_AN_ID.fullmatch(given) else uuid.uuid4().hex
