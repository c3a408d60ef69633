"""Whether this server can answer: the model gets ready, can be asked, has ended, or takes nothing new any more."""

from __future__ import annotations

from play.serving.front.answers import LATER, SOON, App

STARTING = "the model is getting ready"
DRAINING = "this server is about to end and takes no new request; send it to another one"


class Standing:
    """The application that answers while it can, and a reason while it cannot.

    ``play/serving/life.py`` changes it, and the parts of the front ask it for every request.
    """

    def __init__(self) -> None:
        self.app: App | None = None
        self.why = STARTING  # as long as there is no application
        self.draining = False
        self.restarts = 0

    def open(self, app: App) -> None:
        """Let requests through to an application from now on."""
        self.app = app

    def close(self, why: str) -> None:
        """Let no request through, until it is opened again."""
        self.app, self.why = None, why

    def drain(self) -> None:
        """Take nothing new any more; what runs goes on."""
        self.draining = True

    def obstacle(self) -> tuple[str, int] | None:
        """Return why no request can be taken now, and after how many seconds to ask again; nothing if it can."""
        if self.draining:
            return DRAINING, SOON
        return (self.why, LATER) if self.app is None else None
