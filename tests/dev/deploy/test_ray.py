"""Ray Serve with two servers without a model, and with two of the course's own; all by night: Ray takes long to start."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import yaml

from checker import environments
from checker.course.paths import ROOT
from play.serving.front.admission import LARGEST_BODY
from play.serving.replicas import start
from tests.dev.deploy.fake_server import text_of
from tools.benchmarks.replicas import faults, processes
from tools.benchmarks.replicas.load import Request, closed_loop

pytestmark = pytest.mark.nightly

FAKE = [sys.executable, str(Path(__file__).with_name("fake_server.py"))]
CLUSTER = ROOT / "deploy" / "ray" / "serve.yaml"
LONG = 3000  # tokens, which the fake writes in some seconds


@contextlib.contextmanager
def ray(*options, command=FAKE, ready=True):
    """Ray Serve with two servers, once they are ready."""
    environments.make(start.HOME, start.PINS)
    line = [str(environments.python_of(start.HOME)), "-m", start.APPLICATION, "--replicas", "2", *options]
    port = processes.free_port()
    made = processes.Process([*line, "--port", str(port), "--", *command], port, environment=start.ENVIRONMENT)
    with processes.running(made):
        if ready:
            made.wait_until_ready()
        yield made


@pytest.fixture(scope="module")
def in_ray():
    with ray() as made:
        yield made
        assert made.end() == 0


def servers_in(ray, command=FAKE):
    below = psutil.Process(ray.process.pid).children(recursive=True)
    return [one for one in below if lives(one) and one.cmdline()[: len(command)] == command]


def lives(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def ask(port, method="POST", path="/v1/completions", body=None, headers=()):
    """Status, header lines and body of an answer to a request that is not only right ones."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest(method, path)
    for name, value in headers:
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("content-length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    got = answer.status, answer.getheaders(), answer.read()
    connection.close()
    return got


def message(body):
    return json.loads(body)["error"]["message"]


def seen(ray, fault, tokens=20, count=faults.REQUESTS):
    asked = faults.requests(["whale", "ship", "sea"], tokens, count)
    wanted = {one.prompt: text_of(one.prompt, tokens) for one in asked}
    return faults.happens(ray.port, asked, wanted, fault)


def test_no_request_fails_while_a_server_is_restarted(in_ray):
    got = seen(in_ray, lambda: servers_in(in_ray)[0].terminate())
    assert [one.error for one in got.failed] == []
    assert got.wrong == []


def test_a_killed_server_ends_its_streams_with_an_error_event(in_ray):
    got = seen(in_ray, lambda: servers_in(in_ray)[0].kill(), tokens=200, count=400)
    assert 0 < len(got.failed) <= faults.CLIENTS
    assert {one.error.partition(":")[0] for one in got.failed} == {"error event"}
    assert got.wrong == []


def test_a_frozen_server_is_killed_and_only_its_streams_fail(in_ray):
    frozen = servers_in(in_ray)[0]
    got = seen(in_ray, frozen.suspend, tokens=200, count=400)
    assert not lives(frozen)
    assert len(got.failed) <= faults.CLIENTS
    assert {one.error.partition(":")[0] for one in got.failed} <= {"error event"}
    assert got.wrong == []
    assert got.longest < 30
    assert closed_loop(in_ray.port, [Request("whale", 3)] * 20, 4)[-1].right
    assert re.search(r"the server has not answered for \d+ s; it is started again", in_ray.said())


def test_a_header_that_is_there_twice_is_passed_on_twice(in_ray):
    status, headers, body = ask(in_ray.port, body=b'{"prompt": "echo"}', headers=[("x-a", "1"), ("x-a", "2"), ("x-request-id", "mine")])  # fmt: skip
    assert status == 200
    assert [value for name, value in headers if name == "set-cookie"] == ["a=1", "b=2"]
    assert [value for name, value in headers if name == "x-request-id"] == ["mine"]
    assert {"x-a: 1", "x-a: 2", "x-request-id: mine"} <= set(json.loads(body))


@pytest.mark.parametrize("said", [True, False])
def test_a_body_that_is_too_large_is_refused_and_not_kept(in_ray, said):
    def pieces():
        for _ in range(20):
            yield b" " * LARGEST_BODY

    connection = http.client.HTTPConnection("127.0.0.1", in_ray.port, timeout=60)
    headers = {"content-length": str(20 * LARGEST_BODY)} if said else {}
    connection.request("POST", "/v1/completions", pieces(), headers, encode_chunked=not said)
    answer = connection.getresponse()
    assert answer.status == 413
    assert message(answer.read()) == "the body is larger than 1,048,576 bytes"
    connection.close()


def test_where_the_metrics_are_is_said(in_ray):
    status, _, body = ask(in_ray.port, "GET", "/metrics")
    assert status == 404
    (port,) = re.findall(r"This replica's server has them at http://127\.0\.0\.1:(\d+)/metrics", message(body))
    assert processes.status(int(port), "/ready") == 200


def test_each_line_of_a_server_says_whose_it_is(in_ray):
    lines = re.findall(r"^\[(\w+)\] a fake server at \d+$", in_ray.said(), re.M)
    assert len(set(lines)) >= 2


def test_a_signal_lets_what_runs_finish_and_nothing_new_begins():
    with ray() as made, ThreadPoolExecutor(8) as pool:
        asked = [Request(prompt, LONG, stream) for prompt in ("whale", "sea") for stream in (True, False)]
        texts = [pool.submit(closed_loop, made.port, [one], 1) for one in asked]
        time.sleep(1)
        servers = servers_in(made)
        made.terminate()
        limit = time.monotonic() + 2
        while processes.status(made.port, "/ready") == 200:
            assert time.monotonic() < limit, "it is still ready"
        status, headers, _ = ask(
            made.port, body=json.dumps({"prompt": "late", "max_tokens": 1, "stream": False}).encode()
        )
        assert (status, dict(headers)["retry-after"]) == (503, "1")
        answers = [one for text in texts for one in text.result()]
        assert [one.error for one in answers] == [""] * 4
        assert [one.text for one in answers] == [text_of(one.prompt, LONG) for one in asked]
        assert made.wait() == 0, made.said()
        assert "nothing new is taken; what runs has 30 s to finish" in made.said()
        assert len(servers) == 2
        assert not any(map(lives, servers))


def test_what_runs_longer_than_the_grace_is_cut_off_and_a_second_signal_ends_all_at_once():
    for grace, second, longest in (("1", False, 1 + 10), ("600", True, 10)):
        with ray("--grace", grace) as made, ThreadPoolExecutor(1) as pool:
            stream = pool.submit(closed_loop, made.port, [Request("whale", 100 * LONG, True)], 1)
            time.sleep(1)
            servers = servers_in(made)
            made.terminate()
            began = time.monotonic()
            if second:
                time.sleep(2)
                assert made.process.poll() is None
                made.terminate()
            assert made.wait() == (128 + signal.SIGTERM if second else 0)
            assert time.monotonic() - began < longest
            assert stream.result()[0].error
            assert not any(map(lives, servers))


def test_a_signal_while_the_servers_get_ready_ends_all():
    never = [sys.executable, "-c", "import time; time.sleep(600)"]
    with ray(command=never, ready=False) as made:
        limit = time.monotonic() + 60
        while not (servers := servers_in(made, never)):
            assert time.monotonic() < limit, "no server is started"
            time.sleep(0.1)
        made.terminate()
        assert made.wait() == 0
        assert not any(map(lives, servers))


# ---------------------------------------------------------------- a cluster


def in_ray_environment(code, text):
    environments.make(start.HOME, start.PINS)
    return subprocess.run(
        [str(environments.python_of(start.HOME)), "-c", code],
        env=os.environ | start.ENVIRONMENT,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )


BUILD = """
import sys, yaml
from ray.serve.schema import ServeDeploySchema
from play.serving.replicas.application import build
(application,) = ServeDeploySchema(**yaml.safe_load(sys.stdin)).applications
assert application.import_path == "play.serving.replicas.application:build"
print(build(application.args))
"""


def test_ray_takes_the_file_for_a_cluster():
    run = in_ray_environment(BUILD, CLUSTER.read_text())
    assert run.returncode == 0, run.stderr
    assert "Application" in run.stdout


def test_on_a_cluster_a_command_without_keys_has_to_say_so():
    text = CLUSTER.read_text()
    run = in_ray_environment(BUILD, re.sub(r" --api-key \S+", "", text))
    assert run.returncode == 1
    assert "add --api-key FILE to the command" in run.stderr
    run = in_ray_environment(BUILD, re.sub(r"--api-key \S+", "--no-key", text))
    assert run.returncode == 0, run.stderr


def test_the_file_for_a_cluster_finds_the_code_wherever_ray_was_started(tmp_path):
    environments.make(start.HOME, start.PINS)
    port, settings = processes.free_port(), yaml.safe_load(CLUSTER.read_text())
    (application,) = settings["applications"]
    assert Path(application["runtime_env"]["env_vars"]["PYTHONPATH"]).is_absolute()
    application["runtime_env"]["env_vars"]["PYTHONPATH"] = str(ROOT)
    application["args"]["command"] = [*FAKE, "--no-key"]
    settings["http_options"] = {"host": "127.0.0.1", "port": port}
    file = tmp_path / "serve.yaml"
    file.write_text(yaml.safe_dump(settings))
    line = [str(start.HOME / "bin" / "serve"), "run", str(file)]
    made = processes.Process(line, port, environment={"RAY_USAGE_STATS_ENABLED": "0"}, folder=tmp_path)
    with processes.running(made):
        made.wait_until_ready()
        (answer,) = closed_loop(port, [Request("whale", 3)], 1)
        assert answer.text == text_of("whale", 3)
        servers = servers_in(made, [*FAKE, "--no-key"])
        assert len(servers) == 2
    limit = time.monotonic() + 20
    while any(map(lives, servers)):
        assert time.monotonic() < limit, "the servers outlived Ray"
        time.sleep(0.1)


# ---------------------------------------------------------------- the course's own server, with the model in the box

KEY = "a-key-of-nobody-else"


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    environments.make(start.HOME, start.PINS)
    file, port = tmp_path_factory.mktemp("secrets") / "keys", processes.free_port()
    file.write_text(f"{KEY}\n")
    command = [sys.executable, "-m", "cli", "serve", "--replicas", "2", "--port", str(port)]
    made = processes.Process(
        [*command, "--api-key", str(file), "--batch", "8", "--queue", "8", "--log-json"],
        port,
        environment={"HF_HUB_OFFLINE": "1"},
    )
    with processes.running(made):
        made.wait_until_ready()
        yield made
        assert made.end() == 0
        lines = [json.loads(line) for line in made.said().splitlines() if line.startswith("{")]
        assert {line["status"] for line in lines if line.get("message") == "request"} >= {200, 401, 429}
        assert KEY not in made.said()


def own(prompt, tokens=16, stream=False):
    return Request(prompt, tokens, stream, {"authorization": f"Bearer {KEY}"})


def test_the_courses_own_servers_ask_for_keys_and_refuse_what_is_too_much(servers):
    body = json.dumps({"model": "moby-dick", "prompt": "Call me", "max_tokens": 4}).encode()
    status, headers, said = ask(servers.port, body=body)
    assert (status, dict(headers)["www-authenticate"]) == (401, "Bearer")
    assert "the key is missing" in message(said)
    authorization = [("authorization", f"Bearer {KEY}")]
    status, _, said = ask(servers.port, body=b" " * (LARGEST_BODY + 1), headers=authorization)
    assert status == 413
    full = json.dumps({"model": "moby-dick", "prompt": "Call me", "max_tokens": 200, "n": 16}).encode()
    with ThreadPoolExecutor(6) as clients:
        answers = list(clients.map(lambda _: ask(servers.port, body=full, headers=authorization), range(6)))
    refused = [dict(headers) for status, headers, _ in answers if status == 429]
    assert refused
    assert {one["retry-after"] for one in refused} == {"1"}
    assert {status for status, *_ in answers} == {200, 429}


def test_the_courses_own_servers_write_the_same_text_while_one_is_restarted(servers):
    asked = [own(prompt, stream=stream) for prompt in ("Call me", "The whale", "Ahab") for stream in (False, True)] * 40
    wanted = faults.alone(servers.port, asked)
    line = [sys.executable, "-m", "cli", "serve"]
    got = faults.happens(servers.port, asked, wanted, lambda: servers_in(servers, line)[0].terminate(), clients=6)
    assert [one.error for one in got.failed] == []
    assert got.wrong == []


def test_a_model_that_cannot_be_served_is_said():
    environments.make(start.HOME, start.PINS)
    command = [sys.executable, "-m", "cli", "serve", "--replicas", "2", "--port", "0", "--model", "tests"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 2
    assert "tests has no readable config.json" in run.stderr


SPOILED = """
import sys
from ray import exceptions, serve
from play.serving.replicas import application

def start(*arguments, **options):
    raise {error}

serve.start = start
sys.argv[1:] = ["--port", "0", "--", "true"]
application.main()
"""


@pytest.mark.parametrize(
    "error", ["exceptions.ActorDiedError()", 'TimeoutError("HTTP proxies not available after 60s.")']
)
def test_ray_that_does_not_start_is_said(error):
    environments.make(start.HOME, start.PINS)
    command = [str(environments.python_of(start.HOME)), "-c", SPOILED.format(error=error)]
    environment = os.environ | start.ENVIRONMENT
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment, cwd=ROOT)
    assert run.returncode == 2
    assert re.search(
        r"^serve: Ray did not start: .*[a-z]\. Try again when less runs on this machine$", run.stderr, re.M
    )
    assert "Traceback" not in run.stderr
