"""HAProxy as ``deploy/haproxy`` configures it, before servers without a model; by night, before the course's own."""

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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


def fake_server(*options, port=None):
    port = port or free_port()
    return Process([sys.executable, str(FAKE), "--port", str(port), *options], port)


@pytest.fixture(scope="module")
def replicas():
    made = [fake_server(), fake_server()]
    with running(*made):
        for one in made:
            one.wait_until_ready()
        yield made


@pytest.fixture(scope="module")
def balanced(replicas):
    before = balancer(*(one.port for one in replicas))
    with running(before):
        until_both_answer(before)
        yield before


@pytest.fixture
def haproxy(balanced, replicas):
    """HAProxy before two servers; whatever a test does to them, HAProxy sends requests to both again after it."""
    yield balanced
    mend(balanced, replicas)


def mend(haproxy, replicas, seconds=10.0):
    for one in replicas:
        if one.process.poll() is not None:
            one.start()
    until_both_answer(haproxy, seconds)


def wait_for(condition, seconds=10.0):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it never came true"
        time.sleep(0.05)


def until_both_answer(haproxy, seconds=10.0):
    wait_for(lambda: answered_by(haproxy.port) == set(NAMES), seconds)


def answered_by(port, count=4):
    answers = closed_loop(port, [Request("a", 1)] * count, 1)
    return {one.server for one in answers if one.right}


def seen(haproxy, fault, count=REQUESTS):
    asked = faults.requests(PROMPTS, TOKENS, count)
    wanted = {one.prompt: text_of(one.prompt, TOKENS) for one in asked}
    return faults.happens(haproxy.port, asked, wanted, fault)


def ask_directly(replica, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{replica.port}{path}", timeout=5) as answer:
        return answer.read()


@contextmanager
def a_stream_on_each(haproxy, replicas):
    """Hold a stream on each server, and yield a function that lets both end and returns the servers of those that failed.

    So something runs on a server for certain at the moment when it fails. Of the other requests, by chance none may.
    """

    def held():
        return sum(int(ask_directly(one, "/held")) for one in replicas)

    with ThreadPoolExecutor(len(replicas)) as pool:
        streams = []
        for number in range(len(replicas)):  # each goes where fewer run
            streams.append(pool.submit(closed_loop, haproxy.port, [Request("held", TOKENS, stream=True)], 1))
            wait_for(lambda number=number: held() == number + 1)

        def failed():
            for one in replicas:
                if one.process.poll() is None:
                    ask_directly(one, "/release")
            return [answer.server for one in streams for answer in one.result() if not answer.right]

        try:
            yield failed
        finally:
            failed()  # whatever happened, nobody waits for ever


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


def test_a_killed_server_takes_only_its_streams_with_it(haproxy, replicas):
    with a_stream_on_each(haproxy, replicas) as failed:
        got = seen(haproxy, faults.kill(replicas[0]))
        assert failed() == [NAMES[0]]
    assert len(got.failed) <= faults.CLIENTS
    assert got.untouched == []
    assert {one.status for one in got.failed} <= {200}  # what had not begun to answer began again on the other server
    assert got.wrong == []
    session = [Request("a", 1, headers={"X-Session-Id": f"session {number}"}) for number in range(16)]
    answers = closed_loop(haproxy.port, session, 4)
    assert {(one.error, one.server) for one in answers} == {("", NAMES[1])}  # a session is a hint, and no condition


def test_a_frozen_server_is_taken_out_by_its_probe(haproxy, replicas):
    with a_stream_on_each(haproxy, replicas) as failed:
        try:
            got = seen(haproxy, faults.freeze(replicas[0]))
        finally:
            replicas[0].thaw()
        assert failed() == [NAMES[0]]
    assert len(got.failed) <= 2 * faults.CLIENTS
    assert got.wrong == []
    assert got.longest < 10, "a client waited for nothing"


def test_a_session_goes_on_while_its_server_is_restarted(haproxy, replicas):
    sessions = [{"X-Session-Id": f"visitor {number}"} for number in range(16)]
    asked = [Request(prompt, TOKENS, stream, session) for prompt in PROMPTS for stream in (False, True) for session in sessions]  # fmt: skip
    wanted = {one.prompt: text_of(one.prompt, TOKENS) for one in asked}
    placed = {one.request.headers["X-Session-Id"]: one.server for one in closed_loop(haproxy.port, asked[:16], 8)}
    assert set(placed.values()) == set(NAMES)
    got = faults.happens(haproxy.port, asked, wanted, faults.restart(replicas[0]), clients=16)
    assert [one.error for one in got.failed] == []
    assert got.wrong == []
    moved = [one for one in got.answers if placed[one.request.headers["X-Session-Id"]] != one.server]
    assert {one.server for one in moved if one.started < got.moment + got.seconds} == {NAMES[1]}


@contextmanager
def names(addresses):
    """A name server that says what ``addresses`` has at the moment, and yields its port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))

        def answer():
            while (asked := taken.recvfrom(512))[0]:
                query, client = asked
                end = query.index(b"\0", 12) + 5  # of the name, the type and the class
                name = query[13 : 13 + query[12]].decode()
                found = query[end - 4 : end - 2] == b"\0\x01" and name in addresses  # type A
                record = b"\xc0\x0c\0\x01\0\x01" + bytes(4) + b"\0\x04" + socket.inet_aton(addresses[name])
                head = query[:2] + b"\x81\x80\0\x01" + bytes([0, found]) + bytes(4)
                taken.sendto(head + query[12:end] + record * found, client)

        thread = threading.Thread(target=answer)
        thread.start()
        yield taken.getsockname()[1]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", taken.getsockname())
        thread.join()


def test_a_server_that_comes_back_at_another_address_is_found(tmp_path):
    addresses, port, file = {"replica-1": "127.0.0.1"}, free_port(), tmp_path / "haproxy.cfg"
    with names(addresses) as name_server:
        configured = CONFIGURATION.read_text()
        assert configured.count("parse-resolv-conf") == 1
        file.write_text(configured.replace("parse-resolv-conf", f"nameserver test 127.0.0.1:{name_server}"))
        environment = {"REPLICA_1": f"replica-1.test:{free_port()}", "REPLICA_2": f"127.0.0.1:{free_port()}"}
        server = fake_server(port=int(environment["REPLICA_1"].partition(":")[2]))
        before = Process(
            [processes.haproxy(), "-db", "-f", str(file)],
            port,
            environment=environment | {"BIND": f"127.0.0.1:{port}"},
        )
        with running(before, server):
            before.wait_until_ready()
            server.end()
            wait_for(lambda: status(port, "/ready") == 503)
            addresses["replica-1"] = "127.0.0.2"
            again = fake_server("--host", "127.0.0.2", port=server.port)
            with running(again):
                wait_for(lambda: status(port, "/ready") == 200)
                assert answered_by(port) == {"replica-1"}


def test_what_haproxy_answers_itself(haproxy, replicas):
    assert [status(haproxy.port, path) for path in ("/health", "/ready", "/metrics")] == [200, 200, 404]
    for one in replicas:
        one.kill()
    wait_for(lambda: status(haproxy.port, "/ready") == 503)
    assert status(haproxy.port, "/health") == 200
    (answer,) = closed_loop(haproxy.port, [Request("a")], 1)
    assert answer.status == 503


# ---------------------------------------------------------------- the course's own server, with the model in the box

LONG = 400  # tokens
MODEL_SECONDS = 180.0  # for a server to start on a busy machine, and for HAProxy to see it


@pytest.fixture(scope="module")
def servers():
    made = [server(), server()]
    with running(*made):
        for one in made:
            one.wait_until_ready()
        yield made


@pytest.fixture(scope="module")
def balanced_servers(servers):
    made = balancer(*(one.port for one in servers))
    with running(made):
        until_both_answer(made, MODEL_SECONDS)
        yield made


@pytest.fixture
def before_servers(balanced_servers, servers):
    """HAProxy before the course's servers; after each test, it sends requests to both again."""
    yield balanced_servers
    mend(balanced_servers, servers, MODEL_SECONDS)


@pytest.fixture(scope="module")
def wanted(servers):
    return faults.alone(servers[1].port, faults.requests(PROMPTS, TOKENS, len(PROMPTS)))


def seen_of_servers(before_servers, wanted, fault):
    return faults.happens(before_servers.port, faults.requests(PROMPTS, TOKENS), wanted, fault)


def under_long_streams(before_servers, fault):
    """Return the fault, a second after long streams have begun on both servers, and what will hold their answers."""
    answers = []

    def later():
        long = [Request(prompt, LONG, stream=True, model="moby-dick") for prompt in PROMPTS[:4]]
        with ThreadPoolExecutor(1) as pool:
            streams = pool.submit(closed_loop, before_servers.port, long, len(long))
            time.sleep(1)
            fault()
            answers.extend(streams.result())

    return later, answers


@pytest.mark.nightly
def test_by_night_no_request_fails_while_a_server_is_restarted(before_servers, servers, wanted):
    got = seen_of_servers(before_servers, wanted, faults.restart(servers[0]))
    assert [one.error for one in got.failed] == []
    assert got.wrong == []


@pytest.mark.nightly
def test_by_night_a_killed_server_takes_only_its_streams_with_it(before_servers, servers, wanted):
    fault, long = under_long_streams(before_servers, faults.kill(servers[0]))
    got = seen_of_servers(before_servers, wanted, fault)
    assert {one.server for one in long if not one.right} == {NAMES[0]}
    assert len(got.failed) <= faults.CLIENTS  # by chance, none of the short ones may have run there
    assert NAMES[0] not in got.server_after(5)
    assert got.untouched == []
    assert got.wrong == []


@pytest.mark.nightly
def test_by_night_a_frozen_server_is_taken_out_by_its_probe(before_servers, servers, wanted):
    fault, long = under_long_streams(before_servers, faults.freeze(servers[0]))
    try:
        got = seen_of_servers(before_servers, wanted, fault)
    finally:
        servers[0].thaw()
    assert {one.server for one in long if not one.right} == {NAMES[0]}
    assert len(got.failed) <= 2 * faults.CLIENTS
    assert NAMES[0] not in got.server_after(10)
    assert got.wrong == []
    assert got.longest < 30
