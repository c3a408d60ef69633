"""Connections of clients, which are closed if no request comes in time."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

from play.serving.options import HEAD_SECONDS

PIECE = 1 << 9  # bytes that are read at a time; as many chunks of a byte as they can be take 0.4 ms


class Connection(H11Protocol):
    """A connection that is closed if it brings no request in time.

    While a request is answered, its body and its answer have limits of their own, and between two requests uvicorn's
    clock runs. This class limits the rest: a new connection, half a head, and a body that nobody reads any more. The
    protocol is h11's, since httptools takes a head of any size.

    Data is read in pieces, between which other connections get their turn: a body of 1 MiB can come in a million
    chunks, and h11 limits only a head that it has not read to its end.
    """

    clock: asyncio.TimerHandle | None = None
    unread = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take the data that has come, and no more until it is read."""
        waits = bool(self.unread)
        self.unread += data
        if waits:
            self.transport.pause_reading()
        else:
            self._read()

    def _read(self) -> None:
        piece, self.unread = self.unread[:PIECE], self.unread[PIECE:]
        super().data_received(piece)
        self._watch()
        if self.transport.is_closing():
            self.unread = b""
        elif self.unread:
            self.transport.pause_reading()
            self.loop.call_soon(self._read)
        elif not self.flow.read_paused:
            self.transport.resume_reading()

    def _watch(self) -> None:
        if self.cycle and not self.cycle.response_complete:
            if self.clock:
                self.clock.cancel()
            self.clock = None
        elif not self.clock:
            self.clock = self.loop.call_later(HEAD_SECONDS, self.transport.close)
