"""What the parts of the front share: the types of an ASGI application, bodies, and errors in the form of OpenAI's."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

KINDS = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
CLOSE = (b"connection", b"close")
MOST_DISCARDED = 64 << 20  # bytes of a body that nobody wants
DISCARD_SECONDS = 5.0  # for which they may take
SOON = 1  # seconds after which a request that found no place may be sent again
LATER = 5  # seconds after which a server that is getting ready may be asked again


def error(status: int, message: str) -> dict[str, Any]:
    """Return an error as OpenAI's interface has it."""
    kind = KINDS.get(status, "invalid_request_error" if status < 500 else "api_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": str(status)}}


def event(status: int, message: str) -> bytes:
    """Return an error as the last event of a stream, which begins with status 200; clients raise it."""
    return b"data: " + json.dumps(error(status, message)).encode() + b"\n\n"


async def answer(send: Send, status: int, body: bytes, headers: Headers, *, head: bool = False) -> None:
    """Send a whole answer; for HEAD, without its body."""
    headers = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else body})


async def answer_json(send: Send, status: int, content: Any, headers: Headers | None = None, **how: bool) -> None:
    """Send a whole answer as JSON."""
    body = json.dumps(content).encode()
    await answer(send, status, body, [(b"content-type", b"application/json"), *(headers or [])], **how)


async def refuse(send: Send, status: int, message: str, headers: Headers | None = None) -> None:
    """Answer that a request is not taken, and why."""
    await answer_json(send, status, error(status, message), headers)


def retry_after(seconds: int) -> tuple[bytes, bytes]:
    """Return the header that says when to ask again."""
    return b"retry-after", str(seconds).encode()


def header(scope: Scope, name: bytes) -> bytes | None:
    """Return the value of a header that was sent once; none if it was not, or more than once."""
    values = [value for key, value in scope["headers"] if key == name]
    return values[0] if len(values) == 1 else None


class Body:
    """The body of a request, as it comes."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.receive, self.more = receive, True
        self.waits = header(scope, b"expect") is not None  # the client sends it once it has leave to

    async def _next(self) -> bytes:
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        self.more = message.get("more_body", False)
        part: bytes = message.get("body", b"")
        return part

    async def read(self, most: int) -> bytes | None:
        """Return all of it, or nothing if it has more bytes than ``most``; the rest is left then.

        Raises:
            ConnectionError: the client has gone.
        """
        parts = bytearray()
        while self.more and len(parts) <= most:
            parts += await self._next()
        return bytes(parts) if len(parts) <= most else None

    async def discard(self) -> Headers:
        """Read what is left and forget it; return headers for the answer that follows.

        A client sends its whole body before it reads an answer. If it sends too much, too slowly, or waits for leave,
        it gets the answer at once, and the connection ends, since a body may still be on its way.

        Raises:
            ConnectionError: the client has gone.
        """
        total = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DISCARD_SECONDS):
                while self.more and not self.waits and total <= MOST_DISCARDED:
                    total += len(await self._next())
        return [CLOSE] if self.more else []
