"""Who may ask what: this server reads and runs a learner's code, on a machine that others may use too.

Everything must be asked for by a name of this machine (else a page elsewhere could have its own name point here) and,
if a page asks, by a page of this server. What is not the book itself needs the key besides: other users of the
machine can reach the port, and cookies ignore ports, so the key is a header that no other page can send.
"""

from __future__ import annotations

import secrets
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 1_000_000  # of a request's body
NAMES = ("127.0.0.1", "localhost")
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class TooLarge(HTTPException):
    """A body has more bytes than any file of a step."""

    def __init__(self) -> None:
        super().__init__(413, f"a body has {MOST_BYTES:,} bytes at most")


class Guard:
    """Answers itself what may not be asked, and lets the rest through.

    Args:
        app: what answers the rest.
        port: the port of this server.
        key: what a request for more than the book needs.
        trusted: further origins that are this server, such as a devcontainer's: ``https://name.example``.
    """

    def __init__(self, app: ASGIApp, port: int, key: str, trusted: tuple[str, ...] = ()) -> None:
        self.app = app
        self.key = key
        self.origins = {*(f"http://{name}:{port}" for name in NAMES), *(origin.rstrip("/") for origin in trusted)}
        self.hosts = {urlsplit(origin).netloc for origin in self.origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Content-Security-Policy", "default-src 'none'; frame-ancestors 'self'")
            await send(message)

        status, why = self.refusal(scope["path"], Headers(scope=scope))
        if status:
            await JSONResponse({"error": why}, status)(scope, receive, sending)
            return
        await self.app(scope, _limited(receive), sending)

    def refusal(self, path: str, headers: Headers) -> tuple[int, str]:
        """Return the status and the reason with which a request is refused; 0 if it is not."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self.hosts:
            return 403, f"this server is not {host!r}; open it as one of {', '.join(sorted(self.hosts))}"
        if origin is not None and origin not in self.origins:
            return 403, f"{origin!r} may not ask; `./run book --trusted-origin ORIGIN` lets another address in"
        if not path.startswith("/api/"):
            return 0, ""
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "another site may not ask"
        if not secrets.compare_digest(headers.get("authorization", "").encode(), f"Bearer {self.key}".encode()):
            return 401, "the key is missing or another one; open the page with the link that `./run book` prints"
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MOST_BYTES:
            return 413, TooLarge().detail
        return 0, ""


def _limited(receive: Receive) -> Receive:
    """Return a ``receive`` that ends a body which grows too large, whatever length it said it has."""
    total = 0

    async def receiving() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > MOST_BYTES:
            raise TooLarge
        return message

    return receiving
