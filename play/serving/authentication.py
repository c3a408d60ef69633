"""A request passes with a key, as Starlette's middleware for authentication asks it."""

from __future__ import annotations

import hmac

from starlette.authentication import AuthCredentials, AuthenticationBackend, AuthenticationError, SimpleUser
from starlette.requests import HTTPConnection

from checker.errors import UserError
from play.serving.keys import Keys
from play.serving.paths import PROBES

WANTED = "the key is missing or is not one of this server's; send it as the header `Authorization: Bearer KEY`"


class KeyAuthentication(AuthenticationBackend):
    """Let those pass who have one of the keys.

    A request's key is compared with each of them, in a time that says nothing about its letters.
    """

    def __init__(self, keys: Keys) -> None:
        self.keys = keys

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, SimpleUser] | None:
        """Let a request with a key pass, and one that asks how the server is.

        Raises:
            AuthenticationError: the request has no key.
        """
        if conn.scope["path"] in PROBES:
            return None
        scheme, _, key = ",".join(conn.headers.getlist("authorization")).partition(" ")
        try:
            matches = [hmac.compare_digest(key.strip().encode("latin-1"), other) for other in self.keys.read()]
        except UserError:
            matches = []
        if scheme.lower() != "bearer" or not any(matches):  # after all comparisons
            raise AuthenticationError(WANTED)
        return None
