"""The door in front of MAX's server: what a request must be, and a clear sentence for every one that is not.

MAX 26.7.0 answers many of these with "Value error." or not as asked, and a token id outside the vocabulary ends its
model worker, and with it the server. So each request is looked at before MAX sees it. Only what serving a
GPT-2 needs is let through: MAX's server has further addresses, among them some that change its state.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

COMPLETIONS = "/v1/completions"
ADDRESSES = {COMPLETIONS: "POST", "/v1/models": "GET", "/health": "GET", "/version": "GET"}
LARGEST_BODY = 1 << 20  # bytes; a full context of tokens is some thousand
MOST_CHOICES = 128  # texts that one request may ask for
SEED_OF_ZERO = 1 << 62  # MAX takes seed 0 for no seed at all
NOT_OFFERED = {"echo": False, "logprobs": None, "suffix": None, "best_of": 1, "logit_bias": None}


class Refused(Exception):
    """A request that is not let through: the status of the answer, and what to do."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Served:
    """What is behind the door."""

    name: str  # by which requests ask for the model
    n_positions: int
    vocab_size: int
    encode: Callable[[str], list[int]]  # the tokens of a text


def admitted(body: bytes, served: Served) -> dict[str, Any]:
    """The request that MAX gets to see.

    Raises:
        Refused: the request is not one that the model behind the door can answer as asked.
    """
    try:
        request = json.loads(body)
    except ValueError as error:
        raise Refused(f"the body is not JSON: {error}") from error
    if not isinstance(request, dict):
        raise Refused('the body must be a JSON object, {"model": …, "prompt": …}')
    if request.get("model") != served.name:
        raise Refused(f"no model {request.get('model')!r} is served here; there is {served.name!r}", 404)
    for name, value in NOT_OFFERED.items():
        if request.get(name, value) not in (value, None):
            raise Refused(f"{name} is not offered here; leave it out")
    prompts = _prompts(request.get("prompt"))
    _check_number(request, "max_tokens", 1, served.n_positions, whole=True)
    _check_number(request, "temperature", 0, 2)
    _check_number(request, "top_p", 0, 1)
    _check_number(request, "top_k", -1, served.vocab_size, whole=True)
    _check_number(request, "seed", 0, 2**63 - 1, whole=True)
    _check_number(request, "n", 1, MOST_CHOICES, whole=True)
    for prompt in prompts:
        _check_length(prompt, request.get("max_tokens"), served)
    return _every_choice(request, prompts)


def _prompts(prompt: object) -> list[str | list[int]]:
    """The prompts of a request one by one, each a text or token ids."""
    if prompt is None:
        raise Refused("there is no prompt; give a text, token ids, or a list of either")
    is_one = isinstance(prompt, str) or (isinstance(prompt, list) and prompt and isinstance(prompt[0], int))
    prompts = [prompt] if is_one else prompt
    if not isinstance(prompts, list):
        raise Refused(f"prompt must be a text, token ids, or a list of either, not {json.dumps(prompt)[:80]}")
    for one in prompts:
        ids = isinstance(one, list) and all(isinstance(token, int) and not isinstance(token, bool) for token in one)
        if not isinstance(one, str) and not ids:
            raise Refused(f"a prompt must be a text or token ids, not {json.dumps(one)[:80]}")
        if not one:
            raise Refused("the prompt is empty; give at least one token, <|endoftext|> if you have no other")
    if not prompts:
        raise Refused("the list of prompts is empty; give at least one")
    return prompts


def _check_number(request: dict[str, Any], name: str, least: float, most: float, *, whole: bool = False) -> None:
    value = request.get(name)
    if value is None:
        return
    kind = "a whole number" if whole else "a number"
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)) or not least <= value <= most:
        raise Refused(f"{name} = {json.dumps(value)[:80]} must be {kind} from {least} to {most}")


def _check_length(prompt: str | list[int], max_tokens: int | None, served: Served) -> None:
    """Refuse a prompt that has no room in the context, with what is to follow it, or no row in the table."""
    ids = served.encode(prompt) if isinstance(prompt, str) else prompt
    outside = [token for token in ids if not 0 <= token < served.vocab_size]
    if outside:
        raise Refused(f"token id {outside[0]} is not in the vocabulary of {served.vocab_size} tokens")
    wanted = max_tokens or 1
    if len(ids) + wanted > served.n_positions:
        raise Refused(
            f"the prompt has {len(ids)} tokens and {wanted} more are asked for; "
            f"the model's context has {served.n_positions}. Shorten the prompt, or lower max_tokens"
        )


def _every_choice(request: dict[str, Any], prompts: list[str | list[int]]) -> dict[str, Any]:
    """The request with ``n`` and ``seed`` put into words that MAX follows: it overlooks n, and seed 0."""
    count, seeded = request.pop("n", None) or 1, request.get("seed") is not None
    if count * len(prompts) > MOST_CHOICES:
        raise Refused(f"{count} texts for each of {len(prompts)} prompts are more than {MOST_CHOICES}; ask in parts")
    if count * len(prompts) > 1 and request.get("stream"):
        raise Refused("one request streams one text; send a request for each")
    if count > 1 and seeded:
        raise Refused(f"n = {count} with one seed would be {count} times the same text; send seeds of their own")
    if seeded:
        request["seed"] = request["seed"] or SEED_OF_ZERO
    if count * len(prompts) > 1:
        request["prompt"] = [prompt for prompt in prompts for _ in range(count)]
    return request


class Door:
    """An ASGI application in front of MAX's."""

    def __init__(self, app: App, served: Served) -> None:
        self.app = app
        self.served = served

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        try:
            method = ADDRESSES.get(scope["path"])
            if method is None:
                raise Refused(f"nothing is served at {scope['path']}; there are {', '.join(ADDRESSES)}", 404)
            if scope["method"] != method:
                raise Refused(f"{scope['path']} is asked with {method}, not {scope['method']}", 405)
            if method == "POST":
                request = admitted(await _body(receive), self.served)
                scope, receive = _with_body(json.dumps(request).encode(), scope, receive)
        except Refused as refusal:
            return await _answer(refusal, send)
        await self.app(scope, receive, send)


async def _body(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            raise Refused(f"the body is larger than {LARGEST_BODY:,} bytes", 413)
        if not message.get("more_body"):
            return body


def _with_body(
    body: bytes, scope: MutableMapping[str, Any], receive: Receive
) -> tuple[MutableMapping[str, Any], Receive]:
    """The same request with another body."""
    left = [body]
    headers = [
        (name, value) for name, value in scope["headers"] if name not in (b"content-length", b"transfer-encoding")
    ]

    async def receive_body_first() -> Message:
        return {"type": "http.request", "body": left.pop()} if left else await receive()

    return {**scope, "headers": [*headers, (b"content-length", str(len(body)).encode())]}, receive_body_first


async def _answer(refusal: Refused, send: Send) -> None:
    """A refusal in the words of OpenAI's interface."""
    error = {"message": str(refusal), "type": "invalid_request_error", "param": None, "code": str(refusal.status)}
    body = json.dumps({"error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
