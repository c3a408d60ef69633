"""The application that clients see: Starlette before MAX's own application.

Probes are answered whatever else is wrong, need no key and fill no log. For all else a record begins, so every answer
has an id and is counted, refusals too. A request without a key is sent away before anything of it is read. Only a valid
request takes places, and its validation says how many. This knows no name of MAX's.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, Gauge, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from play.serving.keys import Keys
from play.serving.options import BODY_SECONDS, LARGEST_BODY
from play.serving.request_log import CLIENT_LEFT, CURRENT, ONE_MODEL, PATHS, PROBES, Recording
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


def front(service: Service, limits: ModelLimits, keys: Keys | None) -> Starlette:
    """Return the application that the server's clients see.

    Args:
        service: answers valid requests.
        limits: what the model can answer.
        keys: one of which a request needs, if there are any.
    """
    RUNNING.set_function(lambda: service.running)
    WAITING.set_function(lambda: service.taken - service.running)
    validating = asyncio.Lock()  # for one request after another, since JSON lets nothing else run while it is parsed

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def ready(request: Request) -> Response:
        if why := service.obstacle():
            raise HTTPException(503, why)
        return JSONResponse({"status": "ready"})

    async def metrics(request: Request) -> Response:
        return Response(generate_latest(), headers={"content-type": CONTENT_TYPE_LATEST})

    async def write(request: Request, validated: Callable[[bytes, ModelLimits], ValidRequest]) -> ASGIApp:
        """Validate a request for texts, and pass it on in words that MAX follows."""
        body = await read_body(request)
        async with validating:
            valid = await asyncio.to_thread(validated, body, limits)
        record = CURRENT.get()
        record.texts, record.choices = valid.texts, valid.choices
        unread = [json.dumps(valid.content).encode()]

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            async def receive_body_first() -> Message:
                return {"type": "http.request", "body": unread.pop()} if unread else await receive()

            await service(scope, receive_body_first, send)

        return answer

    async def complete(request: Request) -> ASGIApp:
        return await write(request, valid_completion)

    async def chat(request: Request) -> ASGIApp:
        return await write(request, valid_chat)

    async def one_model(request: Request) -> ASGIApp:
        if (name := request.path_params["model"]) != limits.name:
            raise InvalidRequest(f"model = {json.dumps(name)[:LONGEST_VALUE]} must be {limits.served}", 404)
        request.scope["path"] = f"/v1/models/{limits.name.rpartition('/')[2]}"  # a name with a slash has no path at MAX
        return service

    endpoints: dict[str, Any] = {"/health": health, "/ready": ready, "/metrics": metrics, ONE_MODEL: one_model}
    endpoints |= {"/v1/completions": complete, "/v1/chat/completions": chat}
    routes = [Route(path, endpoints.get(path, service), methods=[PATHS.get(path, "GET")]) for path in (*PATHS, *PROBES)]
    middleware = [Middleware(Recording)]
    if keys is not None:
        asked = {"www-authenticate": "Bearer"}
        middleware.append(Middleware(AuthenticationMiddleware, keys, lambda _, why: refusal(401, str(why), asked)))
    handlers: Any = {HTTPException: _refused}
    app = Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return app


async def read_body(request: Request) -> bytes:
    """Return the body of a request.

    Raises:
        HTTPException: it is too large, or does not come in time, or the client has gone.
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


def _refused(request: Request, problem: HTTPException) -> Response:
    path, status, detail = request.url.path, problem.status_code, problem.detail
    if type(problem) is HTTPException and status == 404:  # Starlette's own; another model is invalid
        paths = ", ".join([*PATHS, *PROBES]).replace(":path", "")
        detail = f"nothing is served at {path[:80]}; the paths are {paths}"
    elif status == 405:
        detail = f"{path} takes {PATHS.get(path, 'GET')}, not {request.method}"
    return refusal(status, detail, problem.headers)
