"""A record of every request, under an id that the client may choose; the log and the counts are made of the records."""

from __future__ import annotations

import logging
import re
import time
import uuid
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from prometheus_client import Counter, disable_created_metrics
from pythonjsonlogger.json import JsonFormatter
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from play.serving.paths import PATHS, PROBES

ID = "x-request-id"
VALID_ID = re.compile(r"[\w.:=+/-]{1,128}", re.ASCII)  # nothing that could end a line of a log, or a header
CLIENT_LEFT = 499  # as nginx counts a request whose client went away first
LAST_EVENT = b"data: [DONE]"  # of a stream; a client that has it may hang up
LOGGER = logging.getLogger("play.serving")  # writes nothing until `log_as_json`

disable_created_metrics()  # a series for each counter, which nobody reads
REQUESTS = Counter("gpt2_requests", "Requests that have ended, by path and status.", ["path", "status"])


@dataclass
class RequestRecord:
    """The record of one request; the parts of the server fill in its fields as they learn them."""

    id: str
    method: str
    path: str
    began: float = field(default_factory=time.monotonic)
    status: int = 0  # of the answer; 0 if the client went away before there was one
    seconds: float = 0.0  # until the answer was complete, or the client had gone
    complete: bool = False  # the answer was sent to its end
    stream: bool = False  # the answer comes in pieces
    texts: int = 0  # how many the request asks for
    choices: int = 1  # how many of them for each prompt
    prompt_tokens: int = 0
    generated_tokens: int = 0
    ended: str = ""  # why the request was ended before its time
    error: int = 0  # the status that this has; a stream has begun with another one

    @property
    def counted_status(self) -> int:
        """The status by which the request is counted, whatever its answer began with."""
        return self.error or (self.status if self.complete else CLIENT_LEFT)

    def end(self) -> None:
        """Count and log the request, which has ended. Nothing of its text, and no key, is in the log."""
        self.seconds = round(time.monotonic() - self.began, 4)
        REQUESTS.labels(self.path if self.path in PATHS else "other", str(self.counted_status)).inc()
        fields = vars(self) | {"status": self.counted_status}
        LOGGER.info("request", extra={name: value for name, value in fields.items() if name != "began"})


#: The record of the request that is being answered; in the tasks that MAX starts for it, too.
CURRENT: ContextVar[RequestRecord] = ContextVar("record")


class Recording:
    """Keeps a record of each request, and gives the answer the request's id.

    Args:
        app: what answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["path"] in PROBES:
            return await self.app(scope, receive, send)
        wanted = Headers(scope=scope).get(ID, "")
        record = RequestRecord(
            wanted if VALID_ID.fullmatch(wanted) else uuid.uuid4().hex, scope["method"], scope["path"]
        )
        CURRENT.set(record)  # for this task alone: each request has its own
        try:
            await self.app(scope, partial(_receive_and_note, record, receive), partial(_note_and_send, record, send))
        except Exception:
            record.error = 0 if record.complete else 500  # so the server answers, or cuts off what has begun
            raise
        finally:
            record.end()


async def _receive_and_note(record: RequestRecord, receive: Receive) -> Message:
    """Return the next message of a request, and note in its record if the client has gone."""
    message = await receive()
    if message["type"] == "http.disconnect" and not record.complete:
        record.error = CLIENT_LEFT
    return message


async def _note_and_send(record: RequestRecord, send: Send, message: Message) -> None:
    """Send a part of an answer under the request's id, and note in its record first: the client may hang up at once."""
    if message["type"] == "http.response.start":
        headers = MutableHeaders(scope=message)
        record.status = message["status"]
        record.stream = headers.get("content-type", "").startswith("text/event-stream")
        headers[ID] = record.id
    else:
        last = message.get("body", b"").rstrip().endswith(LAST_EVENT) or not message.get("more_body", False)
        record.complete |= last and record.error != CLIENT_LEFT  # MAX ends an answer that nobody reads, too
    await send(message)


def log_as_json() -> None:
    """Write log records from now on to standard error, one JSON object per line."""
    LOGGER.handlers[:] = [logging.StreamHandler()]
    write_as_json(LOGGER)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False


def write_as_json(logger: logging.Logger) -> None:
    """Have a logger's handlers write JSON, whose every line has ``level``, ``message`` and ``time``."""
    names: Any = {"timestamp": "time", "rename_fields": {"levelname": "level"}}
    for handler in logger.handlers:
        handler.setFormatter(JsonFormatter("%(levelname)s %(message)s", **names))
