"""Validation of requests: a clear sentence for each one that the model cannot answer as asked.

MAX 26.7.0 answers many of these with "Value error." or not as asked, and a token id outside the vocabulary ends its
model worker, and with it the server. So each request is validated before MAX sees it. Only the paths that serving
GPT-2 needs are open: MAX's server has others, and some of them change its state.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PATHS = {"/v1/completions": "POST", "/v1/models": "GET", "/health": "GET", "/version": "GET"}
LARGEST_BODY = 1 << 20  # bytes; a full context of tokens has a few thousand
LONGEST_VALUE = 80  # characters of a value that a message repeats
MOST_CHOICES = 128  # texts that one request may ask for
SEED_OF_ZERO = 1 << 62  # MAX takes seed 0 for no seed at all
NOT_OFFERED = {"echo": False, "logprobs": None, "suffix": None, "best_of": 1, "logit_bias": None}


class InvalidRequest(Exception):
    """A request that MAX never sees: the status of the answer, and what to do."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class ModelLimits:
    """What the served model can answer."""

    name: str  # under which requests ask for the model
    n_positions: int
    vocab_size: int
    encode: Callable[[str], list[int]]  # text -> token ids


def _as_list(prompt: object) -> object:
    """Put a single prompt into a list."""
    alone = isinstance(prompt, str) or (isinstance(prompt, list) and prompt and isinstance(prompt[0], int))
    return [prompt] if alone else prompt


NOT_EMPTY = Field(min_length=1, fail_fast=True)
Prompt = Annotated[str, Field(min_length=1)] | Annotated[list[int], NOT_EMPTY]
PROMPTS = "a text, token ids, or a list of either, each of at least one token (<|endoftext|> if you have no other)"
Prompts = Annotated[list[Prompt], NOT_EMPTY, BeforeValidator(_as_list)]


def _number(kind: Any, least: float, most: float) -> tuple[Any, str]:
    words = f"{'a whole number' if kind is int else 'a number'} from {least} to {most}"
    return Annotated[kind | None, Field(ge=least, le=most)], words


@functools.cache
def completion_request(limits: ModelLimits) -> type[BaseModel]:
    """Make the type of a request to this model. Each field's description says what it may be; others pass."""
    fields = {
        "model": (Literal[limits.name], f"{json.dumps(limits.name)}, which is served here"),
        **{name: (Literal[value, None], "left out; it is not offered here") for name, value in NOT_OFFERED.items()},
        "prompt": (Prompts, PROMPTS),
        "max_tokens": _number(int, 1, limits.n_positions),
        "temperature": _number(float, 0, 2),
        "top_p": _number(float, 0, 1),
        "top_k": _number(int, -1, limits.vocab_size),
        "seed": _number(int, 0, 2**63 - 1),
        "n": _number(int, 1, MOST_CHOICES),
    }
    config = ConfigDict(extra="allow", strict=True, validate_default=True)
    described: Any = {name: (kind, Field(None, description=words)) for name, (kind, words) in fields.items()}
    return create_model("CompletionRequest", __config__=config, **described)


def validated(body: bytes, limits: ModelLimits) -> dict[str, Any]:
    """Return the request that MAX will see.

    Raises:
        InvalidRequest: the model cannot answer the request as asked.
    """
    kind = completion_request(limits)
    try:
        request = kind.model_validate_json(body).model_dump(exclude_unset=True)
    except ValidationError as invalid:
        error = invalid.errors(include_url=False)[0]
        if not error["loc"]:
            raise InvalidRequest(f'the body must be a JSON object, {{"prompt": …}}: {error["msg"]}') from invalid
        name, value = str(error["loc"][0]), json.dumps(error["input"])[:LONGEST_VALUE]
        message = f"{name} = {value} must be {kind.model_fields[name].description}"
        raise InvalidRequest(message, 404 if name == "model" else 400) from invalid
    for prompt in request["prompt"]:
        _check_length(prompt, request.get("max_tokens") or 1, limits)
    return _every_choice(request)


def _check_length(prompt: str | list[int], wanted: int, limits: ModelLimits) -> None:
    """Refuse a prompt that leaves no room in the context for its continuation, or a token with no row in the table."""
    ids = limits.encode(prompt) if isinstance(prompt, str) else prompt
    outside = [token for token in ids if not 0 <= token < limits.vocab_size]
    if outside:
        raise InvalidRequest(f"token id {outside[0]} is not in the vocabulary of {limits.vocab_size} tokens")
    if len(ids) + wanted > limits.n_positions:
        raise InvalidRequest(
            f"the prompt has {len(ids)} tokens and {wanted} more are asked for; "
            f"the model's context has {limits.n_positions}. Shorten the prompt, or lower max_tokens"
        )


def _every_choice(request: dict[str, Any]) -> dict[str, Any]:
    """Express ``n`` and ``seed`` in a way that MAX follows: it ignores n, and seed 0."""
    count, prompts = request.pop("n", None) or 1, request["prompt"]
    choices = [prompt for prompt in prompts for _ in range(count)]
    if len(choices) > MOST_CHOICES:
        asked = f"{count} texts for each of {len(prompts)} prompts"
        raise InvalidRequest(f"{asked} are more than {MOST_CHOICES}; split the request")
    if len(choices) > 1 and request.get("stream"):
        raise InvalidRequest("one request streams one text; send a request for each")
    if request.get("seed") is not None:
        if count > 1:
            raise InvalidRequest(f"n = {count} with one seed gives {count} identical texts; send one request per seed")
        request["seed"] = request["seed"] or SEED_OF_ZERO
    return request | {"prompt": choices if len(choices) > 1 else choices[0]}


class RequestValidation:
    """An ASGI application in front of MAX's, which answers invalid requests itself."""

    def __init__(self, app: App, limits: ModelLimits) -> None:
        self.app, self.limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a valid request on, or answer an invalid one."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        try:
            method = PATHS.get(scope["path"])
            if method is None:
                raise InvalidRequest(f"nothing is served at {scope['path']}; the paths are {', '.join(PATHS)}", 404)
            if scope["method"] != method:
                raise InvalidRequest(f"{scope['path']} takes {method}, not {scope['method']}", 405)
            if method == "POST":
                request = validated(await _body(receive), self.limits)
                scope, receive = _with_body(json.dumps(request).encode(), scope, receive)
        except InvalidRequest as invalid:
            return await _answer(invalid, send)
        await self.app(scope, receive, send)


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
        if len(body) > LARGEST_BODY:
            raise InvalidRequest(f"the body is larger than {LARGEST_BODY:,} bytes", 413)
    return body


def _with_body(body: bytes, scope: Scope, receive: Receive) -> tuple[Scope, Receive]:
    """Give the same request another body."""
    left, lengths = [body], (b"content-length", b"transfer-encoding")
    headers = [(name, value) for name, value in scope["headers"] if name not in lengths]

    async def receive_body_first() -> Message:
        return {"type": "http.request", "body": left.pop()} if left else await receive()

    return {**scope, "headers": [*headers, (b"content-length", str(len(body)).encode())]}, receive_body_first


async def _answer(invalid: InvalidRequest, send: Send) -> None:
    """Answer in the format of OpenAI's interface."""
    error = {"message": str(invalid), "type": "invalid_request_error", "param": None, "code": str(invalid.status)}
    body = json.dumps({"error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": invalid.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
