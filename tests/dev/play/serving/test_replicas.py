"""Two replicas in Ray Serve: they share the requests, one is killed and replaced, and a signal lets both finish.

All of Ray's processes are at this machine's own address, and nothing is left of them.
"""

import os
import re
import signal
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

import psutil
import pytest
from max._core.engine import max_cache_dir

from checker.errors import UNUSABLE
from checker.files import ROOT
from play.serving.options import ServerOptions
from play.serving.service import MODEL_ENDED
from tests.dev.helpers.terminal import started
from tests.dev.play.serving.real_server import Server, openai

pytestmark = pytest.mark.slow

pytest.importorskip("ray")


def replicas(server):
    """The processes of the replicas, the oldest first."""
    named = []
    for process in server.processes():
        with suppress(psutil.NoSuchProcess):
            named += [process] if "ray::ServeReplica" in " ".join(process.cmdline()) else []
    return sorted(named, key=psutil.Process.create_time)


def listening(process):
    """The addresses at which a process listens."""
    with suppress(psutil.NoSuchProcess):
        connections = process.net_connections("inet")
        return {connection.laddr.ip for connection in connections if connection.status == psutil.CONN_LISTEN}
    return set()


def test_replicas_on_gpus_that_are_not_there_are_refused():
    with started(ROOT, "-m", "cli", "serve", "--device", "gpu", "--replicas", "99") as process:
        _, errors = process.communicate(timeout=60)
    assert re.fullmatch(r"serve: each replica runs on a GPU of its own, and MAX can use \d+ here; leave .*\n", errors)
    assert process.returncode == UNUSABLE


def test_a_driver_that_does_not_serve_yet_is_ended_at_once_whatever_it_does(monkeypatch):
    module = pytest.importorskip("play.serving.replicas")

    def signals():
        received = module_signals()
        os.kill(os.getpid(), signal.SIGTERM)
        return received

    module_signals = module.received_signals
    monkeypatch.setattr(module, "received_signals", signals)
    monkeypatch.setattr(module, "DRIVER", "import time; time.sleep(999)")
    began = time.monotonic()
    assert module.serve_replicas(ServerOptions("", replicas=2), None, [].append) == 0
    assert time.monotonic() - began < 60


@pytest.mark.nightly
def test_two_replicas_share_requests_replace_one_that_is_killed_and_drain(tmp_path):
    options = ("--replicas", "2", "--batch", "2", "--queue", "2", "--grace", "600")
    home, temporary = tmp_path / "home", Path(tempfile.mkdtemp(dir="/tmp"))  # short, as addresses of sockets have to be
    home.mkdir()
    places = {"HOME": str(home), "TMPDIR": str(temporary), "MODULAR_CACHE_DIR": str(Path(max_cache_dir()).parent)}
    with Server(*options, until=lambda server: "2 replicas are ready" in server.output(), **places) as server:
        started = server.processes()
        assert len(started) > 10
        addresses = set().union(*map(listening, started))
        assert {ip_address(address.removeprefix("::ffff:")).is_loopback for address in addresses} == {True}
        text = server.text("Call me")
        raw = server.client.completions.with_raw_response
        answer = raw.create(model="moby-dick", prompt="Call me", max_tokens=1, extra_headers={"x-request-id": "my-own"})
        assert answer.headers.get_list("x-request-id") == ["my-own"]
        with ThreadPoolExecutor(12) as clients:  # each replica has four places
            asked = [clients.submit(server.complete, "Call me", max_tokens=50, n=2) for _ in range(12)]
        assert {type(request.exception()) for request in asked} == {openai.RateLimitError, type(None)}
        assert len([request for request in asked if not request.exception()]) > 2, "one replica alone has two of them"

        with ThreadPoolExecutor(2) as clients:
            waiting = clients.submit(server.complete, "Call me", max_tokens=250)
            stream = server.stream()
            for replica in replicas(server):
                replica.kill()
            with pytest.raises(openai.APIError, match=MODEL_ENDED.split(";")[0]):
                list(stream)
            refusal = waiting.exception()
            assert (refusal.status_code, refusal.response.headers["retry-after"]) == (503, "5")
            assert refusal.response.headers["x-request-id"]
        server.wait_until(lambda: server.output().count("a replica is ready") == 4 and server.answers())
        assert server.text("Call me") == text

        streams = [server.stream(tokens=100) for _ in range(2)]
        server.process.send_signal(signal.SIGTERM)
        server.wait_until(lambda: not server.answers())
        with pytest.raises((openai.InternalServerError, openai.APIConnectionError)):
            server.text("Call me")
        assert [[part.choices[0].finish_reason for part in stream][-1] for stream in streams] == ["length"] * 2
        assert server.status() == 0
        assert server.processes() == []
        assert (list(home.rglob("*")), list(temporary.iterdir())) == ([], [])
        assert re.search(r"serve: 2 replicas are ready at http://127.0.0.1:\d+/v1", server.output())
