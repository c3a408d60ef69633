"""How much is taken: so many texts run at once, so many wait, and what comes then is told to come again.

``validating`` keeps the limits of a body.
"""

from __future__ import annotations

import time

from play.serving.front.answers import CLOSE, SOON, App, Receive, Scope, Send, refuse, retry_after
from play.serving.front.recording import CURRENT
from play.serving.front.standing import Standing

LARGEST_BODY = 1 << 20  # bytes; a full context of tokens has a few thousand
BODY_SECONDS = 30.0  # in which all of it must have come


class Places:
    """The places for texts, of which a request takes as many as it asks for: those of the batch, and the queue's.

    The model puts texts into its batch in the order in which they came, so those that find the batch full wait.
    """

    def __init__(self, batch: int, queue: int) -> None:
        self.batch, self.queue = batch, queue
        self.taken = 0
        self.busy_since = 0.0  # by time.monotonic(): since then, there has always been a text

    @property
    def running(self) -> int:
        """How many texts are in the batch, or about to be."""
        return min(self.taken, self.batch)

    @property
    def waiting(self) -> int:
        """How many texts wait for a place in the batch."""
        return self.taken - self.running

    def fit(self, texts: int) -> bool:
        """Return whether so many more can be taken."""
        return self.taken + texts <= self.batch + self.queue

    def take(self, texts: int) -> None:
        """Take places for so many more texts."""
        if not self.taken:
            self.busy_since = time.monotonic()
        self.taken += texts

    def give_back(self, texts: int) -> None:
        """Free the places of so many texts."""
        self.taken -= texts


class Admission:
    """Answers 503 while the model cannot be asked and 429 when all places are taken, and passes the others on.

    Args:
        app: what answers them; a request has its places until this returns.
        standing: whether requests are taken at all.
        places: how many.
    """

    def __init__(self, app: App, standing: Standing, places: Places) -> None:
        self.app, self.standing, self.places = app, standing, places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        if obstacle := self.standing.obstacle():
            why, seconds = obstacle
            return await refuse(send, 503, why, [retry_after(seconds), CLOSE])
        texts = CURRENT.get().texts
        if not self.places.fit(texts):
            why = f"{self.places.running} texts run and {self.places.waiting} wait, and no more are taken; ask again"
            return await refuse(send, 429, why, [retry_after(SOON)])
        self.places.take(texts)
        try:
            await self.app(scope, receive, send)
        finally:
            self.places.give_back(texts)
