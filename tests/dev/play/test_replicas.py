"""Two replicas in Ray Serve: they share the requests, one is killed and replaced, and a signal lets both finish."""

import re
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psutil
import pytest

from tests.dev.play.test_serve import Server, openai

pytestmark = pytest.mark.slow

pytest.importorskip("ray")


def oldest(server, name):
    """The process of that name that has lived the longest, of those that a server has started."""
    named = []
    for process in psutil.Process(server.process.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            named += [process] if name in " ".join(process.cmdline()) else []
    return min(named, key=psutil.Process.create_time)


def test_two_replicas_share_requests_replace_one_that_is_killed_and_drain():
    options = ("--replicas", "2", "--batch", "2", "--queue", "2", "--grace", "600")
    with Server(*options, until=lambda server: "2 replicas are ready" in server.output()) as server:
        text = server.text("Call me")
        raw = server.client.completions.with_raw_response
        answer = raw.create(model="moby-dick", prompt="Call me", max_tokens=1, extra_headers={"x-request-id": "my-own"})
        assert answer.headers.get_list("x-request-id") == ["my-own"]
        with ThreadPoolExecutor(12) as clients:  # each replica has four places
            asked = [clients.submit(server.complete, "Call me", max_tokens=100, n=2) for _ in range(12)]
        assert {type(request.exception()) for request in asked} == {openai.RateLimitError, type(None)}
        assert len([request for request in asked if not request.exception()]) > 2, "one replica alone has two of them"

        oldest(server, "ray::ServeReplica").kill()
        server.wait_until(lambda: server.output().count("a replica is ready") == 3 and server.answers())
        assert server.text("Call me") == text

        streams = [server.stream() for _ in range(2)]
        server.process.send_signal(signal.SIGTERM)
        server.wait_until(lambda: not server.answers())
        with pytest.raises((openai.InternalServerError, openai.APIConnectionError)):
            server.text("Call me")
        assert [[part.choices[0].finish_reason for part in stream][-1] for stream in streams] == ["length"] * 2
        assert server.status() == 0
        assert re.search(r"serve: 2 replicas are ready at http://127.0.0.1:\d+/v1", server.output())
