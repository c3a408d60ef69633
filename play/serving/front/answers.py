"""What every part of the front shares: the types of an ASGI application, and errors in the form of OpenAI's."""

from __future__ import annotations

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
