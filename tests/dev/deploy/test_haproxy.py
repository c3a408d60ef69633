"""HAProxy as ``deploy/haproxy`` configures it, before servers without a model; by night, before the course's own."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from play.serving.replicas.restarting import free_port
from tests.dev.deploy.fake_server import text_of
from tools.benchmarks.replicas import faults, processes
from tools.benchmarks.replicas.load import Request, closed_loop
from tools.benchmarks.replicas.processes import (
    CONFIGURATION,
    NEED_HAPROXY,
    Process,
    balancer,
    running,
    server,
    status,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not processes.haproxy(), reason=NEED_HAPROXY),
]

FAKE = Path(__file__).with_name("fake_server.py")
NAMES = ("replica-1", "replica-2")
PROMPTS = [f"{letter} whale" for letter in "abcdefghijklmnopqrstuvwxyz"]
TOKENS = 20
REQUESTS = 600  # by day; by night, and before real servers, they are as many as the book says


def fake_server():
    port = free_port()
    return Process([sys.executable, str(FAKE), "--port", str(port)], port)


@pytest.fixture(scope="module")
def replicas():
    made = [fake_server(), fake_server()]
    with running(*made):
        for one in made:
            one.wait_until_ready()
        yield made


@pytest.fixture(scope="module")
def haproxy(replicas):
    before = balancer(*(one.port for one in replicas))
    with running(before):
        until_both_answer(before)
        yield before


def wait_for(condition, seconds=10.0):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it never came true"
        time.sleep(0.05)


def until_both_answer(haproxy):
    wait_for(lambda: answered_by(haproxy.port) == set(NAMES))


def answered_by(port, count=4):
    answers = closed_loop(port, [Request("a", 1)] * count, 1)
    return {one.server for one in answers if one.right}


def seen(haproxy, fault, count=REQUESTS):
    asked = faults.requests(PROMPTS, TOKENS, count)
    wanted = {one.prompt: text_of(one.prompt, TOKENS) for one in asked}
    return faults.happens(haproxy.port, asked, wanted, fault)


def test_haproxy_accepts_the_configuration():
    environment = os.environ | {"BIND": "127.0.0.1:1", "REPLICA_1": "127.0.0.1:2", "REPLICA_2": "127.0.0.1:3"}
    run = subprocess.run(
        [processes.haproxy(), "-c", "-f", str(CONFIGURATION)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "WARNING" not in run.stderr


def test_a_session_stays_where_its_prefix_is(haproxy):
    sessions = [{"X-Session-Id": f"session {number}"} for number in range(16)]
    asked = [Request("a", 1, headers=session) for _ in range(4) for session in sessions]
    placed = {session["X-Session-Id"]: set() for session in sessions}
    for one in closed_loop(haproxy.port, asked, 8):
        placed[one.request.headers["X-Session-Id"]].add(one.server)
    assert all(len(where) == 1 for where in placed.values())
    assert set.union(*placed.values()) == set(NAMES)


def test_no_request_fails_while_a_server_is_restarted(haproxy, replicas):
    got = seen(haproxy, faults.restart(replicas[0]))
    assert len(got.answers) == REQUESTS
    assert [one.error for one in got.failed] == []
    assert got.wrong == []
    until_both_answer(haproxy)


def test_a_killed_server_takes_only_its_streams_with_it(haproxy, replicas):
    got = seen(haproxy, faults.kill(replicas[0]))
    assert got.failed, "nothing ran on it"
    assert len(got.failed) <= faults.CLIENTS
    assert got.untouched == []
    assert {one.request.stream for one in got.failed} == {True}  # the others began again on the other server
    assert got.wrong == []
    session = [Request("a", 1, headers={"X-Session-Id": f"session {number}"}) for number in range(16)]
    answers = closed_loop(haproxy.port, session, 4)
    assert {(one.error, one.server) for one in answers} == {("", NAMES[1])}  # a session is a hint, and no condition
    replicas[0].start()
    until_both_answer(haproxy)


def test_a_frozen_server_is_taken_out_by_its_probe(haproxy, replicas):
    try:
        got = seen(haproxy, faults.freeze(replicas[0]))
    finally:
        replicas[0].thaw()
    assert got.failed, "nothing ran on it"
    assert len(got.failed) <= 2 * faults.CLIENTS
    assert got.wrong == []
    assert got.longest < 10, "a client waited for nothing"
    until_both_answer(haproxy)


def test_what_haproxy_answers_itself(haproxy, replicas):
    assert [status(haproxy.port, path) for path in ("/health", "/ready", "/metrics")] == [200, 200, 404]
    for one in replicas:
        one.kill()
    wait_for(lambda: status(haproxy.port, "/ready") == 503)
    assert status(haproxy.port, "/health") == 200
    (answer,) = closed_loop(haproxy.port, [Request("a")], 1)
    assert answer.status == 503
    for one in replicas:
        one.start()


# ---------------------------------------------------------------- the course's own server, with the model in the box


@pytest.fixture(scope="module")
def servers():
    made = [server(), server()]
    with running(*made):
        for one in made:
            one.wait_until_ready()
        yield made


@pytest.fixture(scope="module")
def before_servers(servers):
    made = balancer(*(one.port for one in servers))
    with running(made):
        yield made


@pytest.fixture(scope="module")
def wanted(servers):
    return faults.alone(servers[1].port, faults.requests(PROMPTS, TOKENS, len(PROMPTS)))


def seen_of_servers(before_servers, wanted, fault):
    return faults.happens(before_servers.port, faults.requests(PROMPTS, TOKENS), wanted, fault)


@pytest.mark.nightly
def test_by_night_no_request_fails_while_a_server_is_restarted(before_servers, servers, wanted):
    got = seen_of_servers(before_servers, wanted, faults.restart(servers[0]))
    assert [one.error for one in got.failed] == []
    assert got.wrong == []


@pytest.mark.nightly
def test_by_night_a_killed_server_takes_only_its_streams_with_it(before_servers, servers, wanted):
    got = seen_of_servers(before_servers, wanted, faults.kill(servers[0]))
    assert 0 < len(got.failed) <= faults.CLIENTS
    assert got.untouched == []
    assert got.wrong == []
    servers[0].start()


@pytest.mark.nightly
def test_by_night_a_frozen_server_is_taken_out_by_its_probe(before_servers, servers, wanted):
    try:
        got = seen_of_servers(before_servers, wanted, faults.freeze(servers[0]))
    finally:
        servers[0].thaw()
    assert 0 < len(got.failed) <= 2 * faults.CLIENTS
    assert got.wrong == []
    assert got.longest < 30
