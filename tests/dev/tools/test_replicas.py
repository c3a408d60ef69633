"""The load tool says what clients got, and the simulation agrees with what queueing theory knows exactly."""

import itertools
import json
import math
import operator
import statistics
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tools.benchmarks.replicas import load, results
from tools.benchmarks.replicas.load import Client, Request, closed_loop, for_seconds, open_loop, percentile

simulation = pytest.importorskip("tools.benchmarks.replicas.simulation")


class Fickle(BaseHTTPRequestHandler):
    """Does what the prompt says."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        getattr(self, request["prompt"].replace(" ", "_"))(request)

    def log_message(self, *arguments):
        pass

    def give(self, status, body, kind="application/json", length=None):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("x-served-by", "one")
        self.send_header("content-length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def events(self, *events, length=None):
        self.give(200, b"".join(f"data: {event}\n\n".encode() for event in events), "text/event-stream", length)

    def answer(self, request):
        if request["stream"]:
            return self.events(*(json.dumps({"choices": [{"text": piece}]}) for piece in ("a", "b")), "[DONE]")
        self.give(200, json.dumps({"choices": [{"text": "ab"}]}).encode())

    def refuse(self, request):
        self.give(429, b'{"error": {"message": "too many"}}')

    def garble(self, request):
        self.give(200, b"<html>")

    def say_no_choice(self, request):
        self.give(200, b"{}")

    def hang_up(self, request):
        self.close_connection = True

    def break_off(self, request):
        self.events('{"choices": [{"text": "a"}]}', length=1000)
        self.close_connection = True

    def forget_the_end(self, request):
        self.events('{"choices": [{"text": "a"}]}')

    def die_after_the_end(self, request):
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        events = b'data: {"choices": [{"text": "ab"}]}\n\ndata: [DONE]\n\n'
        self.wfile.write(f"{len(events):x}\r\n".encode() + events + b"\r\n")  # and no empty chunk, the last one
        self.close_connection = True

    def tell_an_error(self, request):
        self.events('{"choices": [{"text": "a"}]}', '{"error": {"message": "the model is gone"}}')

    def wait(self, request):
        time.sleep(0.05)
        self.answer(request)

    def sleep(self, request):
        time.sleep(2)


@pytest.fixture(scope="module")
def port():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Fickle)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_has_its_text_and_its_times(port, stream):
    with closing(Client(port)) as client:
        answer = client.ask(Request("answer", stream=stream))
    assert answer.right
    assert (answer.text, answer.status, answer.server) == ("ab", 200, "one")
    assert 0 < answer.first <= answer.seconds < 1


@pytest.mark.parametrize(
    ("prompt", "stream", "said"),
    [
        ("refuse", False, "status 429: too many"),
        ("garble", False, "JSONDecodeError"),
        ("say no choice", False, "KeyError"),
        ("hang up", False, "RemoteDisconnected"),
        ("hang up", True, "RemoteDisconnected"),
        ("break off", True, "the stream ended without [DONE]"),
        ("forget the end", True, "the stream ended without [DONE]"),
        ("tell an error", True, "error event: the model is gone"),
        ("sleep", False, "TimeoutError"),
    ],
)
def test_what_is_not_all_of_the_text_has_failed(port, prompt, stream, said):
    with closing(Client(port, longest=0.5)) as client:
        answer = client.ask(Request(prompt, stream=stream))
        assert not answer.right
        assert said in answer.error
        assert client.ask(Request("answer")).right  # the next one is not spoiled


def test_a_server_that_dies_after_the_last_event_has_answered_and_its_connection_is_not_used_again(port):
    with closing(Client(port)) as client:
        assert client.ask(Request("die after the end", stream=True)).text == "ab"
        assert client.ask(Request("answer")).error == ""


def test_a_server_that_is_not_there_has_failed_too():
    answer = Client(1).ask(Request("answer"))
    assert (answer.right, answer.status) == (False, 0)


def test_clients_share_the_requests(port):
    counted = []
    answers = closed_loop(port, [Request("wait")] * 40, 8, after=counted.append)
    assert [one.text for one in answers] == ["ab"] * 40
    assert counted == list(range(1, 41))
    asked = sorted((one.started, one.started + one.seconds) for one in answers)
    at_once = [sum(begun <= start < ended for begun, ended in asked) for start, _ in asked]
    assert max(at_once) == 8


def test_for_some_seconds_each_client_asks_at_least_once(port):
    assert len(for_seconds(port, [Request("answer")], 3, 0.0)) == 3
    started = time.monotonic()
    answers = for_seconds(port, [Request("wait")], 2, 0.3)
    assert 0.3 <= time.monotonic() - started < 1
    assert 6 <= len(answers) <= 14


def test_an_open_loop_does_not_wait_for_answers(port):
    begun = time.monotonic()
    answers = open_loop(port, [Request("wait")] * 50, rate=200, seed=3)
    began = sorted(one.started - begun for one in answers)
    assert began[-1] < 50 * 0.05 / 2
    assert all(map(operator.ge, began, load.moments(50, rate=200, seed=3)))


def test_requests_come_at_random_moments():
    came = load.moments(2000, rate=200, seed=3)
    gaps = [later - earlier for earlier, later in itertools.pairwise(came)]
    assert statistics.mean(gaps) == pytest.approx(1 / 200, rel=0.05)
    assert statistics.stdev(gaps) == pytest.approx(1 / 200, rel=0.05)  # as of an exponential distribution
    assert load.moments(2000, rate=200, seed=4) != came


def test_a_percentile_is_one_of_the_values():
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert [percentile(values, share) for share in (0, 0.2, 0.21, 0.5, 0.99, 1)] == [1, 1, 2, 3, 5, 5]


def test_how_far_the_simulation_is_from_the_measurement_is_a_quotient_for_each_of_both():
    times = ("measured median", "simulated median", "measured p95", "simulated p95")
    rows = [dict(zip(times, row, strict=True)) for row in ((1.0, 2.0, 3.0, 1.0), (3.0, 2.0, 1.0, 1.0))]
    assert results.agreement({"rows": rows}) == {"median": (0.5, 1.5), "p95": (1.0, 3.0)}


# ---------------------------------------------------------------- the simulation

ONE_AT_A_TIME = simulation.Times((1,), {1: (0.0,)}, {1: 0.01})
BATCHED = simulation.Times((1, 4, 32), {1: (0.004, 0.006, 0.014), 2: (0.007, 0.010, 0.026)}, {1: 0.002, 2: 0.004})


@pytest.mark.parametrize("load", [0.3, 0.5, 0.8])
def test_one_replica_without_batches_is_the_queue_that_pollaczek_and_khinchine_solved(load):
    took = simulation.latencies(ONE_AT_A_TIME, replicas=1, rate=load * 100, tokens=1, duration=400)
    assert statistics.mean(took) == pytest.approx(0.01 + load * 0.01 / (2 * (1 - load)), rel=0.06)


def test_random_requests_make_many_replicas_as_slow_as_one():
    alone = simulation.latencies(ONE_AT_A_TIME, replicas=1, rate=80, tokens=1, duration=200)
    many = simulation.latencies(ONE_AT_A_TIME, replicas=20, rate=1600, tokens=1, rule="random", duration=20)
    assert statistics.mean(many) == pytest.approx(statistics.mean(alone), rel=0.1)


def test_a_balancer_that_knows_more_makes_them_faster():
    took = {
        rule: statistics.mean(
            simulation.latencies(ONE_AT_A_TIME, replicas=10, rate=900, tokens=1, rule=rule, duration=20)
        )
        for rule in simulation.RULES
    }
    assert took["fewest requests"] < 0.8 * took["better of two"] < 0.5 * took["random"]


def test_a_single_request_takes_its_tokens():
    took = simulation.latencies(BATCHED, replicas=3, rate=0.01, tokens=7, duration=2000)
    assert took
    assert statistics.median(took) == pytest.approx(0.002 + 6 * 0.004)


def test_a_full_batch_reaches_the_capacity_and_no_more():
    capacity = BATCHED.capacity(16)
    assert capacity == pytest.approx(32 / (32 * 0.002 + 15 * 0.014))
    below = simulation.latencies(BATCHED, replicas=1, rate=0.95 * capacity, tokens=16, duration=60)
    above = simulation.latencies(BATCHED, replicas=1, rate=1.2 * capacity, tokens=16, duration=60)
    assert percentile(below, 0.5) < 3 * (32 * 0.002 + 15 * 0.014)
    assert max(above) == pytest.approx(60 * 0.2, rel=0.15)  # the queue grows for as long as they come


def test_prompts_hold_up_those_that_write():
    slow = simulation.Times(BATCHED.batches, BATCHED.tokens, {1: 0.05})
    often = simulation.latencies(slow, replicas=1, rate=5, tokens=16, duration=60)
    assert statistics.mean(often) > 1.2 * (0.05 + 15 * 0.004)


def test_replicas_on_one_processor_slow_each_other():
    def median(shared, rate):
        return statistics.median(
            simulation.latencies(BATCHED, replicas=2, rate=rate, tokens=16, shared=shared, duration=30)
        )

    assert median(True, 0.5) == pytest.approx(0.002 + 15 * 0.004, rel=0.01)  # hardly ever are both busy
    assert median(True, 120) > 1.5 * median(False, 120)
    assert math.isclose(median(False, 0.5), 0.002 + 15 * 0.004, rel_tol=0.01)


def test_the_same_seed_draws_the_same():
    one, same, other = (
        simulation.latencies(BATCHED, replicas=3, rate=50, tokens=16, duration=10, seed=seed) for seed in (1, 1, 2)
    )
    assert one == same != other
