"""What a request may be: a path that is served, a body that is not too large and comes in time, and a valid request."""

from __future__ import annotations

import asyncio
import json

from play.serving.front.admission import BODY_SECONDS, LARGEST_BODY
from play.serving.front.answers import CLOSE, App, Body, Message, Receive, Scope, Send, header, refuse
from play.serving.front.probes import PROBES
from play.serving.front.recording import CURRENT
from play.serving.validation import InvalidRequest, ModelLimits, validated

#: MAX's server has other paths, and some of them change its state.
PATHS = {"/v1/completions": "POST", "/v1/models": "GET", "/version": "GET"}


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
        body = Body(scope, receive)
        try:
            try:
                _check_path(scope)
                if scope["method"] == "POST":
                    scope, receive = _with_body(self._accepted(await self._read(scope, body)), scope, receive)
            except InvalidRequest as invalid:
                late = invalid.status == 408
                headers = [CLOSE] if late else await body.discard() if body.more else []
                if invalid.status == 405:
                    headers.append((b"allow", PATHS[scope["path"]].encode()))
                return await refuse(send, invalid.status, str(invalid), headers)
        except ConnectionError:
            return  # nobody is left to answer
        await self.app(scope, receive, send)

    async def _read(self, scope: Scope, body: Body) -> bytes:
        """Return the body.

        Raises:
            InvalidRequest: it is too large, or does not come.
            ConnectionError: the client has gone.
        """
        length = header(scope, b"content-length") or b""
        read = None
        if not length.isdigit() or int(length[:20]) <= LARGEST_BODY:
            try:
                async with asyncio.timeout(self.body_seconds):
                    read = await body.read(LARGEST_BODY)
            except TimeoutError:
                raise InvalidRequest(f"the body did not come within {self.body_seconds:g} s", 408) from None
        if read is None:
            raise InvalidRequest(f"the body is larger than {LARGEST_BODY:,} bytes", 413)
        return read

    def _accepted(self, body: bytes) -> bytes:
        request = validated(body, self.limits)
        prompt = request["prompt"]
        several = isinstance(prompt, list) and not isinstance(prompt[0], int)
        CURRENT.get().texts = len(prompt) if several else 1
        return json.dumps(request).encode()


def _check_path(scope: Scope) -> None:
    path, method = scope["path"], scope["method"]
    if path not in PATHS:
        raise InvalidRequest(f"nothing is served at {path[:80]}; the paths are {', '.join([*PATHS, *PROBES])}", 404)
    if method != PATHS[path]:
        raise InvalidRequest(f"{path} takes {PATHS[path]}, not {method}", 405)


def _with_body(body: bytes, scope: Scope, receive: Receive) -> tuple[Scope, Receive]:
    """Give the same request another body."""
    left, lengths = [body], (b"content-length", b"transfer-encoding", b"expect")
    headers = [(name, value) for name, value in scope["headers"] if name not in lengths]

    async def receive_body_first() -> Message:
        return {"type": "http.request", "body": left.pop()} if left else await receive()

    return {**scope, "headers": [*headers, (b"content-length", str(len(body)).encode())]}, receive_body_first
