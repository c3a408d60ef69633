"""The connections at which requests come: how long one may take until a request is answered."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

from play.serving.options import HEAD_SECONDS


class Connection(H11Protocol):
    """A connection that is closed if no request comes of it in time.

    While a request is answered, its body and its answer have limits of their own, and between two requests uvicorn's
    clock runs. Here is the rest: a new connection, half a head, and a body that nobody reads any more. The protocol is
    h11's, since httptools takes a head of any size.
    """

    clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        super().data_received(data)
        self._watch()

    def _watch(self) -> None:
        if self.cycle and not self.cycle.response_complete:
            if self.clock:
                self.clock.cancel()
            self.clock = None
        elif not self.clock:
            self.clock = self.loop.call_later(HEAD_SECONDS, self.transport.close)
