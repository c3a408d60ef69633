"""Answers to those that watch the server: is it alive, is it able, and what has it done?

``/health`` answers as long as the process does: without an answer, restart it. ``/ready`` says whether to send it
requests: not before the model is ready, not once the server drains, and not while the model has stopped. No probe needs
a key.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from play.serving.front.admission import Places
from play.serving.front.answers import LATER, App, Receive, Scope, Send, answer, answer_json, refuse, retry_after
from play.serving.front.standing import Standing

PROBES = ("/health", "/ready", "/metrics")
STUCK_SECONDS = 300.0  # without a batch while texts wait for one; the longest prompts of a large model take less


class Probes:
    """Answers the probes itself, and passes everything else on.

    Args:
        app: what answers the rest.
        standing: whether requests are taken.
        places: how many texts run and wait.
        batches: returns how many batches the model has run.
        page: returns what ``/metrics`` says, and the type of that text.
    """

    def __init__(
        self,
        app: App,
        standing: Standing,
        places: Places,
        batches: Callable[[], float],
        page: Callable[[], tuple[bytes, str]],
    ) -> None:
        self.app, self.standing, self.places = app, standing, places
        self.batches, self.page = batches, page
        self.seen, self.seen_at = -1.0, 0.0  # how many batches there were, and when that was new

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a probe, or pass a request on."""
        if scope["type"] != "http" or scope["path"] not in PROBES:
            return await self.app(scope, receive, send)
        head = scope["method"] == "HEAD"
        if scope["method"] not in ("GET", "HEAD"):
            await refuse(send, 405, f"{scope['path']} takes GET, not {scope['method']}", [(b"allow", b"GET, HEAD")])
        elif scope["path"] == "/metrics":
            body, kind = self.page()
            await answer(send, 200, body, [(b"content-type", kind.encode())], head=head)
        elif scope["path"] == "/health":
            await answer_json(send, 200, {"status": "alive"}, head=head)
        elif obstacle := self.standing.obstacle() or self._stuck():
            why, seconds = obstacle
            await answer_json(send, 503, {"status": "not ready", "why": why}, [retry_after(seconds)], head=head)
        else:
            await answer_json(send, 200, {"status": "ready"}, head=head)

    def _stuck(self) -> tuple[str, int] | None:
        """Return why no request should be sent, if the model has stopped and its process has not."""
        now, batches = time.monotonic(), self.batches()
        if batches != self.seen or not self.places.taken:
            self.seen, self.seen_at = batches, now
        # If nobody probed for a while, `seen_at` is older than the texts that are here now.
        seconds = now - max(self.seen_at, self.places.busy_since)
        if seconds <= STUCK_SECONDS:
            return None
        return f"the model has run nothing for {seconds:.0f} s, and texts wait", LATER
