"""A client and a model without a network and without MAX, for tests of what stands between them."""

import asyncio
import json
from dataclasses import dataclass, field

from play.serving.validation import ModelLimits

LIMITS = ModelLimits("whale", n_positions=64, vocab_size=256, encode=lambda text: list(text.encode()))
LONGEST_SECONDS = 5  # of a request in a test; most take none
TEXT = {"model": "whale", "prompt": "Call me"}


@dataclass
class Answer:
    """What a client has got so far."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    complete: bool = False

    @property
    def message(self):
        return json.loads(self.body)["error"]["message"]

    async def send(self, message):
        assert not self.complete, "something is sent after the end"
        if message["type"] == "http.response.start":
            assert not self.status, "there are two answers"
            self.status = message["status"]
            names = [name.decode() for name, _ in message["headers"]]
            assert len(names) == len(set(names)), "a header is there twice"
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            assert self.status, "a body comes before its status"
            self.body += message.get("body", b"")
            self.complete = not message.get("more_body", False)


async def ask(app, body=TEXT, *, path="/v1/completions", method=None, headers=None, pieces=None, answer=None):
    """Ask an application; return what it answers.

    Args:
        app: the application.
        body: of the request: bytes, or what becomes JSON; None for a GET.
        path: of the request.
        method: of the request.
        headers: of the request.
        pieces: the body in pieces, each of which may be an awaitable; a None is a client that goes away.
        answer: what to fill in, to look at it meanwhile.
    """
    answer = answer or Answer()
    whole = body if isinstance(body, bytes) else json.dumps(body).encode()
    left = list(pieces if pieces is not None else [whole] if body is not None else [b""])

    async def receive():
        if not left:
            await asyncio.Event().wait()  # a client that waits for its answer says nothing
        piece = left.pop(0)
        piece = await piece if hasattr(piece, "__await__") else piece
        if piece is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": piece, "more_body": bool(left)}

    scope = {
        "type": "http",
        "method": method or ("GET" if body is None else "POST"),
        "path": path,
        "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
        "state": {},
    }
    async with asyncio.timeout(LONGEST_SECONDS):
        await app(scope, receive, answer.send)
    return answer


class Model:
    """An application that answers when it is told to, and streams if it is asked to."""

    def __init__(self):
        self.asked = []  # the requests that came
        self.go = asyncio.Event()
        self.go.set()

    async def __call__(self, scope, receive, send):
        message = await receive()
        request = json.loads(message["body"] or b"{}")
        self.asked.append(request)
        stream = request.get("stream", False)
        kind = b"text/event-stream; charset=utf-8" if stream else b"application/json"
        headers = [(b"content-type", kind), (b"x-request-id", b"of-the-model")]
        if not stream:
            await self.go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if stream:
            await send({"type": "http.response.body", "body": b"data: one\n\n", "more_body": True})
            await self.go.wait()
            await send({"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        else:
            await send({"type": "http.response.body", "body": json.dumps(request).encode()})


async def until(condition):
    """Let others run until something is true."""
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never becomes true")
