"""Two replicas in Ray Serve: they share the requests, one is killed and replaced, and a signal lets both finish."""

import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psutil
import pytest

from tests.dev.play.test_serve import KEY, START_SECONDS, Server, openai

pytestmark = pytest.mark.slow

pytest.importorskip("ray")


class Replicas(Server):
    def times_printed(self, words):
        """How often it has printed this."""
        return os.pread(self.log.fileno(), 1 << 20, 0).count(words.encode())

    def answers(self):
        """Not before all of them do."""
        return self.times_printed("2 replicas are ready") and super().answers()

    def until_ready(self, count):
        """Wait until this many replicas have become ready in all."""
        limit = time.monotonic() + START_SECONDS
        while self.times_printed("a replica is ready") < count or not self.answers():
            assert time.monotonic() < limit, "a replica is not replaced"
            time.sleep(0.2)

    def oldest(self, name):
        """The process of that name that has lived the longest."""
        named = []
        for process in psutil.Process(self.process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                named += [process] if name in " ".join(process.cmdline()) else []
        return min(named, key=psutil.Process.create_time)


@pytest.fixture
def replicas(tmp_path_factory):
    file = tmp_path_factory.mktemp("secrets") / "keys"
    file.write_text(KEY)
    options = ("--api-key", str(file), "--batch", "2", "--queue", "2", "--grace", "600")
    with Replicas("--replicas", "2", *options, key=KEY) as server:
        yield server


def test_two_replicas_share_requests_replace_one_that_is_killed_and_drain(replicas):
    server = replicas
    text = server.text("Call me")
    assert "".join(part.choices[0].text for part in server.complete("Call me", stream=True)) == text
    raw = server.client.completions.with_raw_response
    answer = raw.create(model="moby-dick", prompt="Call me", max_tokens=1, extra_headers={"x-request-id": "my-own"})
    assert answer.headers.get_list("x-request-id") == ["my-own"]
    with pytest.raises(openai.AuthenticationError):
        server.client.with_options(api_key="another").models.list()
    with pytest.raises(openai.BadRequestError, match="token id 99999 is not in the vocabulary"):
        server.complete([99999])
    with ThreadPoolExecutor(12) as clients:  # each replica has four places
        asked = [clients.submit(server.complete, "Call me", max_tokens=100, n=2) for _ in range(12)]
    problems = {type(request.exception()) for request in asked if request.exception()}
    assert problems == {openai.RateLimitError}
    assert len([request for request in asked if not request.exception()]) > 2, "one replica alone has two of them"

    server.oldest("ray::ServeReplica").kill()
    server.until_ready(3)
    assert server.text("Call me") == text

    streams = [server.stream() for _ in range(2)]
    server.process.send_signal(signal.SIGTERM)
    while server.answers():
        time.sleep(0.01)
    with pytest.raises((openai.InternalServerError, openai.APIConnectionError)):
        server.text("Call me")
    assert [[part.choices[0].finish_reason for part in stream][-1] for stream in streams] == ["length"] * 2
    server.wait()
    assert server.process.returncode == 0
    assert re.search(r"serve: 2 replicas are ready at http://127.0.0.1:\d+/v1", server.output())
