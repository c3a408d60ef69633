"""A replica's server is started, waited for, and started again; by night, Ray Serve does that with two of them."""

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from checker import environments
from checker.course.paths import ROOT
from play import serve
from play.serving.replicas import restarting, start
from play.serving.replicas.restarting import CannotStart, Restarting
from tests.dev.deploy.fake_server import text_of
from tools.benchmarks.replicas import faults, processes
from tools.benchmarks.replicas.load import Request, closed_loop

FAKE = [sys.executable, str(Path(__file__).parents[2] / "deploy" / "fake_server.py")]


def lives(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def server_of(kept):
    (child,) = psutil.Process(kept.process.pid).children()
    return child


def answer(kept):
    (one,) = closed_loop(kept.port, [Request("whale", 3)], 1)
    return one


def test_a_server_that_was_killed_is_started_again():
    async def run():
        kept = Restarting(FAKE)
        try:
            await kept.until_ready()
            assert answer(kept).text == text_of("whale", 3)
            first = kept.process.pid
            server_of(kept).kill()
            kept.process.wait()
            assert not await kept.is_ready()
            await asyncio.gather(*(kept.until_ready() for _ in range(5)))  # all of them wait for one
            assert kept.process.pid != first
            assert answer(kept).right
        finally:
            kept.end()

    asyncio.run(run())


def test_a_server_ends_with_its_replica():
    code = f"""
import asyncio
from play.serving.replicas.restarting import Restarting
async def run():
    kept = Restarting({FAKE!r})
    await kept.until_ready()
    print(kept.process.pid, flush=True)
    await asyncio.sleep(60)
asyncio.run(run())
"""
    replica = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with replica:
        keeper = psutil.Process(int(replica.stdout.readline()))
        (server,) = keeper.children()
        replica.kill()
    limit = time.monotonic() + 10
    while lives(server) or lives(keeper):
        assert time.monotonic() < limit, "the server outlived its replica"
        time.sleep(0.05)


def test_a_server_that_cannot_start_says_why():
    async def run():
        kept = Restarting([sys.executable, "-c", "raise SystemExit('no such model')"])
        try:
            with pytest.raises(CannotStart, match="the server ended with 1: no such model"):
                await kept.until_ready()
        finally:
            kept.kill()

    asyncio.run(run())


def test_a_server_that_is_never_ready_is_not_waited_for_without_end(monkeypatch):
    monkeypatch.setattr(restarting, "START_SECONDS", 0.2)

    async def run():
        kept = Restarting([sys.executable, "-c", "import time; time.sleep(60)"])
        try:
            with pytest.raises(CannotStart, match="is not ready after"):
                await kept.until_ready()
        finally:
            kept.kill()

    asyncio.run(run())


def test_options_become_the_words_of_a_command_line():
    options = {"model": Path("a b"), "port": 8000, "time_limit": 1.5, "log_json": True, "mine": False, "api_key": None}
    assert start.as_arguments(options) == ["--model", "a b", "--port", "8000", "--time-limit", "1.5", "--log-json"]


# ---------------------------------------------------------------- Ray Serve


@pytest.fixture(scope="module")
def in_ray():
    environments.make(start.HOME, start.PINS)
    line = [str(environments.python_of(start.HOME)), "-m", start.APPLICATION, "--replicas", "2", "--port"]
    port = processes.free_port()
    made = processes.Process([*line, str(port), "--", *FAKE], port, environment=start.ENVIRONMENT)
    with processes.running(made):
        made.wait_until_ready()
        yield made
        assert made.end() == 0


def servers_in(ray):
    line = FAKE[1]
    return [one for one in psutil.process_iter(["cmdline"]) if (one.info["cmdline"] or [])[1:2] == [line]]


def seen(ray, fault):
    asked = faults.requests(["whale", "ship", "sea"], 20)
    wanted = {one.prompt: text_of(one.prompt, 20) for one in asked}
    return faults.happens(ray.port, asked, wanted, fault)


@pytest.mark.nightly
def test_by_night_no_request_fails_in_ray_while_a_server_is_restarted(in_ray):
    got = seen(in_ray, lambda: servers_in(in_ray)[0].terminate())
    assert [one.error for one in got.failed] == []
    assert got.wrong == []


@pytest.mark.nightly
def test_by_night_a_killed_server_in_ray_ends_its_streams_with_an_error_event(in_ray):
    got = seen(in_ray, lambda: servers_in(in_ray)[0].kill())
    assert 0 < len(got.failed) <= faults.CLIENTS
    assert {one.error.partition(":")[0] for one in got.failed} == {"error event"}
    assert got.wrong == []


@pytest.mark.nightly
def test_by_night_ray_takes_the_file_for_a_cluster():
    environments.make(start.HOME, start.PINS)
    code = """
import sys, yaml
from ray.serve.schema import ServeDeploySchema
from play.serving.replicas.application import build
(application,) = ServeDeploySchema(**yaml.safe_load(sys.stdin)).applications
assert application.import_path == "play.serving.replicas.application:build"
print(build(application.args))
"""
    run = subprocess.run(
        [str(environments.python_of(start.HOME)), "-c", code],
        env=os.environ | start.ENVIRONMENT,
        input=(ROOT / "deploy" / "ray" / "serve.yaml").read_text(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "Application" in run.stdout


@pytest.mark.nightly
def test_by_night_a_model_that_cannot_be_served_is_said():
    environments.make(start.HOME, start.PINS)
    command = [sys.executable, "-m", "checker", "serve", "--replicas", "2", "--port", "0", "--model", "tests"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 2
    assert "tests has no readable config.json" in run.stderr


def test_each_server_of_several_is_started_with_the_choices_of_all(monkeypatch):
    given = {}

    def never_returns(count, options, tell):
        given.update(options, replicas=count)
        raise SystemExit(0)

    monkeypatch.setattr(start, "serve_replicas", never_returns)
    monkeypatch.setattr(serve, "check_version", lambda: None)
    monkeypatch.setattr(serve, "Options", lambda **options: SimpleNamespace(log_json=False, **options))
    monkeypatch.setenv(serve.QUANTIZE, "")  # so that it is as before when this test ends
    choices = dict(mine=False, fill_in=False, anyway=False, kernels=False, quantize="Q4_0", api_key=None, no_key=False)
    with pytest.raises(SystemExit):
        serve.serve(print, **choices, replicas=2, device="cpu", host="127.0.0.1", port=8000)
    assert "--quantize Q4_0" in " ".join(start.as_arguments(given))
    assert given["replicas"] == 2
