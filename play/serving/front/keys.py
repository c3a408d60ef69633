"""Who may ask: a request needs one of the keys in a file, which is read again whenever it changes.

The file has one key per line; empty lines and those that begin with ``#`` are not keys. Keys are kept and compared as
digests, each time with all of them, so how long a comparison takes says nothing about a key. No message repeats one,
not even one that was given as the name of the file by mistake.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import os
import socket
from collections.abc import Callable
from pathlib import Path

from play.serving.front.answers import App, Body, Receive, Scope, Send, header, refuse

SCHEME = b"bearer"
WANTED = "the key is missing or is not one of this server's; send it as the header `Authorization: Bearer KEY`"


class NoKeys(Exception):
    """There is no key to compare with; the message says what to do."""


class Keys:
    """The keys of a file, as it is now.

    Raises:
        NoKeys: the file cannot be read, or has no key.
    """

    def __init__(self, path: Path, tell: Callable[[str], None]) -> None:
        self.path, self.tell = path, tell
        self.read_at: tuple[int, ...] = ()
        self.digests: list[bytes] = []
        self._read()

    def __len__(self) -> int:
        return len(self.digests)

    def fits(self, key: bytes) -> bool:
        """Return whether this is one of the keys that the file has at this moment. Without a file, none is."""
        try:
            if self._state() != self.read_at:
                self._read()
                self.tell(f"the file of keys has changed; {len(self)} are known now")
        except NoKeys as none:
            if self.digests or self.read_at:
                self.digests, self.read_at = [], ()
                self.tell(f"{none}. Until then no request is taken")
            return False
        given = hashlib.sha256(key).digest()
        fitting = [hmac.compare_digest(given, known) for known in self.digests]  # with all, whichever it is
        return any(fitting)

    def _state(self) -> tuple[int, ...]:
        try:
            found = os.stat(self.path)
        except (OSError, ValueError) as error:
            raise NoKeys("the file of keys cannot be found; --api-key wants a file with one key per line") from error
        return found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev

    def _read(self) -> None:
        state = self._state()
        try:
            lines = [line.strip() for line in self.path.read_bytes().splitlines()]
        except OSError as error:
            raise NoKeys(f"the file of keys cannot be read ({error.strerror}); let this user read it") from error
        keys = [line for line in lines if line and not line.startswith(b"#")]
        if not keys:
            raise NoKeys("the file of keys has no key; write one per line")
        self.digests, self.read_at = [hashlib.sha256(key).digest() for key in keys], state


class Guard:
    """Answers 401 to a request without a key, and passes the others on."""

    def __init__(self, app: App, keys: Keys) -> None:
        self.app, self.keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            scheme, _, key = (header(scope, b"authorization") or b"").partition(b" ")
            if scheme.lower() != SCHEME or not self.keys.fits(key.strip()):
                with contextlib.suppress(ConnectionError):
                    ends = await Body(scope, receive).discard()
                    await refuse(send, 401, WANTED, [(b"www-authenticate", b"Bearer"), *ends])
                return
        await self.app(scope, receive, send)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address or a name."""
    try:
        found = {address[0] for *_, address in socket.getaddrinfo(host or "0.0.0.0", None)}
    except (OSError, UnicodeError):  # no such name: this is said when the port is taken
        return False
    return all(ipaddress.ip_address(str(one).partition("%")[0]).is_loopback for one in found)
