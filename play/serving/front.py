"""The application that clients see: Starlette before MAX's own application.

Probes are answered whatever else is wrong, need no key and fill no log. For all else a record begins, so every answer
has an id and is counted, refusals too. A request without a key is sent away before anything of it is read. Only a valid
request takes places, and its validation says how many. This knows no name of MAX's.
"""

from __future__ import annotations

import asyncio
import functools
import json
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, Counter, Gauge, disable_created_metrics, generate_latest
from starlette.applications import Starlette
from starlette.authentication import AuthenticationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from play.serving.keys import Keys
from play.serving.options import BODY_SECONDS, LARGEST_BODY
from play.serving.records import CURRENT, PROBES, Record, Recording
from play.serving.service import Service, error, retry_after
from play.serving.validation import InvalidRequest, ModelLimits, validated

#: MAX's server has other paths, and some of them change its state.
PATHS = {"/v1/completions": "POST", "/v1/models": "GET", "/version": "GET"}

disable_created_metrics()  # a series for each counter, which nobody reads
REQUESTS = Counter("gpt2_requests", "Requests that have ended, by path and status.", ["path", "status"])
READY = Gauge("gpt2_ready", "1 if requests are taken.")
RUNNING = Gauge("gpt2_texts_running", "Texts in the batch.")
WAITING = Gauge("gpt2_texts_waiting", "Texts that wait for a place in the batch.")
RESTARTS = Gauge("gpt2_model_restarts", "How often the model was started again.")


def front(service: Service, limits: ModelLimits, keys: Keys | None) -> Starlette:
    """Return the application that the server's clients see.

    Args:
        service: answers valid requests.
        limits: what the model can answer.
        keys: one of which a request needs, if there are any.
    """
    READY.set_function(lambda: service.obstacle() is None)
    RUNNING.set_function(lambda: service.running)
    WAITING.set_function(lambda: service.taken - service.running)
    RESTARTS.set_function(lambda: service.restarts)

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def ready(request: Request) -> Response:
        if obstacle := service.obstacle() or service.stuck():
            why, seconds = obstacle
            return JSONResponse({"status": "not ready", "why": why}, 503, retry_after(seconds))
        return JSONResponse({"status": "ready"})

    async def metrics(request: Request) -> Response:
        return Response(generate_latest(), headers={"content-type": CONTENT_TYPE_LATEST})

    async def complete(request: Request) -> ASGIApp:
        """Validate a request, and pass it on in words that MAX follows."""
        content = validated(await read_body(request), limits)
        prompt = content["prompt"]
        several = isinstance(prompt, list) and not isinstance(prompt[0], int)
        CURRENT.get().texts = len(prompt) if several else 1
        return functools.partial(_pass_on, service, json.dumps(content).encode())

    middleware = [Middleware(Recording, [_count, Record.log])]
    if keys is not None:
        middleware.append(Middleware(AuthenticationMiddleware, keys, _no_key))
    endpoints: dict[str, Any] = {"/health": health, "/ready": ready, "/metrics": metrics, "/v1/completions": complete}
    handlers: Any = {HTTPException: _refused, InvalidRequest: _invalid, ClientDisconnect: _gone}
    app = Starlette(
        routes=[
            Route(path, endpoints.get(path, service), methods=[PATHS.get(path, "GET")]) for path in (*PATHS, *PROBES)
        ],
        middleware=middleware,
        exception_handlers=handlers,
    )
    app.router.redirect_slashes = False
    return app


async def read_body(request: Request) -> bytes:
    """Return the body of a request.

    Raises:
        HTTPException: it is too large, or does not come in time.
        ClientDisconnect: the client has gone.
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
    return bytes(body)


async def _pass_on(service: Service, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
    """Give the same request another body, and have it answered."""
    unread = [body]

    async def receive_body_first() -> Message:
        return {"type": "http.request", "body": unread.pop()} if unread else await receive()

    dropped = (b"content-length", b"transfer-encoding", b"expect")
    headers = [(name, value) for name, value in scope["headers"] if name not in dropped]
    headers.append((b"content-length", str(len(body)).encode()))
    await service({**scope, "headers": headers}, receive_body_first, send)


def _count(record: Record) -> None:
    REQUESTS.labels(record.path if record.path in PATHS else "other", str(record.outcome)).inc()


def _no_key(connection: HTTPConnection, problem: AuthenticationError) -> Response:
    return JSONResponse(error(401, str(problem)), 401, {"www-authenticate": "Bearer"})


def _refused(request: Request, problem: HTTPException) -> Response:
    path, detail, headers = request.url.path, problem.detail, problem.headers or {}
    if problem.status_code == 404:
        detail = f"nothing is served at {path[:80]}; the paths are {', '.join([*PATHS, *PROBES])}"
    elif problem.status_code == 405:
        detail = f"{path} takes {PATHS.get(path, 'GET')}, not {request.method}"
    return JSONResponse(error(problem.status_code, detail), problem.status_code, headers)


def _invalid(request: Request, problem: InvalidRequest) -> Response:
    return JSONResponse(error(problem.status, str(problem)), problem.status)


def _gone(request: Request, problem: ClientDisconnect) -> Response:
    return Response(status_code=400)  # nobody is left to read it
