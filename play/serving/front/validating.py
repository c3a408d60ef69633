"""What a request may be: a path that is served, a body that is not too large and comes in time, and a valid request."""

from __future__ import annotations

import asyncio
import json

from play.serving.front.answers import CLOSE, App, Headers, Message, Receive, Scope, Send, header, refuse
from play.serving.front.probes import PROBES
from play.serving.front.recording import CURRENT
from play.serving.validation import InvalidRequest, ModelLimits, validated

#: MAX's server has other paths, and some of them change its state.
PATHS = {"/v1/completions": "POST", "/v1/models": "GET", "/version": "GET"}
LARGEST_BODY = 1 << 20  # bytes; a full context of tokens has a few thousand
MOST_DISCARDED = 64 << 20  # bytes of a body that is too large: only who has sent all of it reads the answer
BODY_SECONDS = 30.0  # for which a body may take


class Validation:
    """Answers what cannot be served itself, and passes valid requests on, in words that MAX follows.

    Args:
        app: what answers them.
        limits: what the model can answer.
        body_seconds: how long a body may take to arrive.
    """

    def __init__(self, app: App, limits: ModelLimits, body_seconds: float = BODY_SECONDS) -> None:
        self.app, self.limits, self.body_seconds = app, limits, body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers: Headers = []
        try:
            method = PATHS.get(scope["path"])
            if method is None:
                served = ", ".join([*PATHS, *PROBES])
                raise InvalidRequest(f"nothing is served at {scope['path'][:80]}; the paths are {served}", 404)
            if scope["method"] != method:
                headers = [(b"allow", method.encode())]
                raise InvalidRequest(f"{scope['path']} takes {method}, not {scope['method']}", 405)
            if method == "POST":
                headers = [CLOSE]  # as long as a part of the body may still come
                body = await self._body(scope, receive)
                headers = []
                scope, receive = _with_body(self._accepted(body), scope, receive)
        except InvalidRequest as invalid:
            return await refuse(send, invalid.status, str(invalid), headers)
        except ConnectionError:
            return None  # nobody is left to answer
        await self.app(scope, receive, send)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Return the body.

        Raises:
            InvalidRequest: it is too large, or does not come.
            ConnectionError: the client has gone.
        """
        length = header(scope, b"content-length") or b""
        declared = int(length[:20]) if length.isdigit() else 0
        too_large = InvalidRequest(f"the body is larger than {LARGEST_BODY:,} bytes", 413)
        if declared > LARGEST_BODY and header(scope, b"expect") is not None:
            raise too_large  # the client waits for leave to send it
        body, total, more = bytearray(), 0, True
        try:
            async with asyncio.timeout(self.body_seconds):
                while more and total <= MOST_DISCARDED:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ConnectionError
                    part, more = message.get("body", b""), message.get("more_body", False)
                    total += len(part)
                    if max(total, declared) <= LARGEST_BODY:
                        body += part
        except TimeoutError:
            if max(total, declared) <= LARGEST_BODY:
                raise InvalidRequest(f"the body did not come within {self.body_seconds:g} s", 408) from None
        if max(total, declared) > LARGEST_BODY:
            raise too_large
        return bytes(body)

    def _accepted(self, body: bytes) -> bytes:
        request = validated(body, self.limits)
        prompt = request["prompt"]
        several = isinstance(prompt, list) and not isinstance(prompt[0], int)
        CURRENT.get().texts = len(prompt) if several else 1
        return json.dumps(request).encode()


def _with_body(body: bytes, scope: Scope, receive: Receive) -> tuple[Scope, Receive]:
    """Give the same request another body."""
    left, lengths = [body], (b"content-length", b"transfer-encoding", b"expect")
    headers = [(name, value) for name, value in scope["headers"] if name not in lengths]

    async def receive_body_first() -> Message:
        return {"type": "http.request", "body": left.pop()} if left else await receive()

    return {**scope, "headers": [*headers, (b"content-length", str(len(body)).encode())]}, receive_body_first
