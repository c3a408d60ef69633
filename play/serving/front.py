"""The application that clients see: Starlette before MAX's own application.

Probes are answered whatever else is wrong, need no key and fill no log. For every other request a record begins, so
every answer has an id and is counted, refusals too. A request without a key is refused before its body is read. Only a
valid request takes places, and its validation says how many. This module knows no name of MAX's.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, Gauge, generate_latest
from starlette.applications import Starlette
from starlette.authentication import AuthenticationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from play.serving.authentication import KeyAuthentication
from play.serving.keys import Keys
from play.serving.options import BODY_SECONDS, LARGEST_BODY
from play.serving.paths import ONE_MODEL, PATHS, PROBES
from play.serving.request_log import CLIENT_LEFT, CURRENT, Recording
from play.serving.service import Service, refusal
from play.serving.validation import (
    LONGEST_VALUE,
    InvalidRequest,
    ModelLimits,
    ValidRequest,
    valid_chat,
    valid_completion,
)

RUNNING = Gauge("gpt2_texts_running", "Texts in the batch.")
WAITING = Gauge("gpt2_texts_waiting", "Texts that wait for a place in the batch.")


class Front:
    """The application that the server's clients see.

    Args:
        service: answers valid requests.
        limits: what the model can answer.
    """

    def __init__(self, service: Service, limits: ModelLimits) -> None:
        self.service, self.limits = service, limits
        self.validating = asyncio.Lock()  # one request after another: JSON lets nothing else run while it is parsed
        RUNNING.set_function(lambda: service.running)
        WAITING.set_function(lambda: service.places_taken - service.running)

    def app(self, keys: Keys | None) -> Starlette:
        """Return the application that answers requests; each needs one of the keys, if there are any."""
        endpoints: dict[str, Any] = {
            "/health": self.health,
            "/ready": self.ready,
            "/metrics": self.metrics,
            "/v1/completions": self.complete,
            "/v1/chat/completions": self.chat,
            ONE_MODEL: self.one_model,
        }
        routes = [
            Route(path, endpoints.get(path, self.service), methods=[PATHS.get(path, "GET")])
            for path in (*PATHS, *PROBES)
        ]
        middleware = [Middleware(Recording)]
        if keys is not None:
            middleware.append(Middleware(AuthenticationMiddleware, KeyAuthentication(keys), _without_key))
        handlers: Any = {HTTPException: _refused}
        app = Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)
        app.router.redirect_slashes = False
        return app

    async def health(self, request: Request) -> Response:
        """Answer that the server is alive."""
        return JSONResponse({"status": "alive"})

    async def ready(self, request: Request) -> Response:
        """Answer whether the server takes requests."""
        if reason := self.service.obstacle():
            raise HTTPException(503, reason)
        return JSONResponse({"status": "ready"})

    async def metrics(self, request: Request) -> Response:
        """Answer with counts and gauges, for Prometheus."""
        return Response(generate_latest(), headers={"content-type": CONTENT_TYPE_LATEST})

    async def complete(self, request: Request) -> ASGIApp:
        """Answer with texts that follow prompts."""
        return await self.write(request, valid_completion)

    async def chat(self, request: Request) -> ASGIApp:
        """Answer with the model's next message in a conversation."""
        return await self.write(request, valid_chat)

    async def one_model(self, request: Request) -> ASGIApp:
        """Answer with the description of the model."""
        name, served = request.path_params["model"], self.limits.name
        if name != served:
            raise InvalidRequest(f"model = {json.dumps(name)[:LONGEST_VALUE]} must be {self.limits.served}", 404)
        request.scope["path"] = f"/v1/models/{served.rpartition('/')[2]}"  # a name with a slash has no path at MAX
        return self.service

    async def write(self, request: Request, validated: Callable[[bytes, ModelLimits], ValidRequest]) -> ASGIApp:
        """Validate a request for texts, and pass it on in words that MAX follows."""
        body = await read_body(request)
        async with self.validating:
            valid = await asyncio.to_thread(validated, body, self.limits)
        record = CURRENT.get()
        record.texts, record.choices = valid.texts, valid.choices
        return Rewritten(self.service, json.dumps(valid.content).encode())


class Rewritten:
    """An application behind a request whose body was rewritten.

    Args:
        app: answers the request.
        body: the new body.
    """

    def __init__(self, app: ASGIApp, body: bytes) -> None:
        self.app, self.unread = app, [body]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request."""
        await self.app(scope, partial(self.receive_body_first, receive), send)

    async def receive_body_first(self, receive: Receive) -> Message:
        """Return the new body first, and then further messages."""
        return {"type": "http.request", "body": self.unread.pop()} if self.unread else await receive()


async def read_body(request: Request) -> bytes:
    """Return the body of a request.

    Raises:
        HTTPException: the body is too large, or does not come in time, or the client has gone.
    """
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > LARGEST_BODY:
                    raise HTTPException(413, f"the body is larger than {LARGEST_BODY:,} bytes")
    except TimeoutError:
        late = f"the body did not come within {BODY_SECONDS:g} s"
        raise HTTPException(408, late, {"connection": "close"}) from None
    except ClientDisconnect:
        raise HTTPException(CLIENT_LEFT, "nobody is left to read this") from None
    return bytes(body)


def _without_key(connection: HTTPConnection, error: AuthenticationError) -> Response:
    return refusal(401, str(error), {"www-authenticate": "Bearer"})


def _refused(request: Request, problem: HTTPException) -> Response:
    path, status, detail = request.url.path, problem.status_code, problem.detail
    if type(problem) is HTTPException and status == 404:  # Starlette's own; another model is invalid
        paths = ", ".join([*PATHS, *PROBES]).replace(":path", "")
        detail = f"nothing is served at {path[:80]}; the paths are {paths}"
    elif status == 405:
        detail = f"{path} takes {PATHS.get(path, 'GET')}, not {request.method}"
    return refusal(status, detail, problem.headers)
