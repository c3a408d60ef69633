"""A replica's server is started, looked after, and started again; ``tests/dev/deploy/test_ray.py`` has two in Ray."""

import asyncio
import contextlib
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from play import serve
from play.serving.replicas import restarting, start
from play.serving.replicas.restarting import CannotStart, Restarting
from tests.dev.deploy.fake_server import text_of
from tools.benchmarks.replicas.load import Request, closed_loop

pytestmark = pytest.mark.slow

FAKE = [sys.executable, str(Path(__file__).parents[2] / "deploy" / "fake_server.py")]


def lives(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def server_of(keeper):
    """The process that answers, beside the one that looks whether the replica is there."""
    (child,) = [one for one in psutil.Process(keeper).children() if one.cmdline()[: len(FAKE)] == FAKE]
    return child


def answer(kept):
    (one,) = closed_loop(kept.port, [Request("whale", 3)], 1)
    return one


@contextlib.asynccontextmanager
async def kept_server(command=FAKE, **options):
    kept = Restarting(command, **options)
    try:
        yield kept
    finally:
        kept.kill()


async def until_another(kept, first):
    async with asyncio.timeout(20):
        while kept.process.pid == first:
            await asyncio.sleep(0.02)


@pytest.mark.anyio
async def test_a_server_that_was_killed_is_started_again():
    async with kept_server() as kept:
        await kept.until_ready()
        assert answer(kept).text == text_of("whale", 3)
        first = kept.process.pid
        server_of(kept.process.pid).kill()
        kept.process.wait()
        assert not await kept.is_ready()
        kept.check()  # Ray asks this, and is answered at once: a server that starts again is well
        await asyncio.gather(*(kept.until_ready() for _ in range(5)))  # all of them wait for one
        assert kept.process.pid != first
        assert answer(kept).right
        kept.check()


@pytest.mark.anyio
async def test_a_server_that_does_not_answer_is_killed_and_started_again(monkeypatch, capsys):
    monkeypatch.setattr(restarting, "SILENT_SECONDS", 0.3)
    monkeypatch.setattr(restarting, "PROBE_SECONDS", 0.2)
    async with kept_server() as kept:
        await kept.until_ready()
        first, frozen = kept.process.pid, server_of(kept.process.pid)
        frozen.suspend()
        await until_another(kept, first)
        monkeypatch.undo()  # on a busy machine, a new one may need longer than that for its first answer
        await kept.until_ready()
        assert not lives(frozen)
        assert answer(kept).right
    assert re.search(r"serve: the server has not answered for \d+ s; it is started again", capsys.readouterr().err)


@pytest.mark.anyio
async def test_a_server_that_was_ready_and_is_not_for_too_long_is_started_again(monkeypatch):
    monkeypatch.setattr(restarting, "NOT_READY_SECONDS", 0.2)
    async with kept_server() as kept:
        await kept.until_ready()
        first = kept.process.pid
        server_of(kept.process.pid).terminate()  # it drains for a second
        kept.check()
        await until_another(kept, first)
        monkeypatch.undo()
        await kept.until_ready()
        assert answer(kept).right


@pytest.mark.anyio
async def test_a_server_that_ends_as_soon_as_it_was_ready_is_started_again(monkeypatch):
    """The test has seen it ready, and its keeper has not."""
    monkeypatch.setattr(restarting, "LOOK_SECONDS", 2)
    async with kept_server() as kept:
        while not await kept.is_ready():
            await asyncio.sleep(0.02)
        first = kept.process.pid
        server_of(first).kill()
        await until_another(kept, first)
        await kept.until_ready()


@pytest.mark.anyio
async def test_a_server_that_drains_finishes_what_it_has_and_is_not_started_again():
    async with kept_server() as kept:
        await kept.until_ready()
        text = asyncio.create_task(asyncio.to_thread(closed_loop, kept.port, [Request("whale", 1500)], 1))
        await asyncio.sleep(0.2)
        draining = asyncio.create_task(kept.drain())
        await asyncio.sleep(0.2)
        with pytest.raises(CannotStart, match="has been asked to end"):
            await kept.until_ready()
        await draining
        ((one,), _) = await asyncio.gather(text, asyncio.sleep(2 * restarting.LOOK_SECONDS))
        assert one.text == text_of("whale", 1500)
        assert kept.process.returncode == 0
        assert kept.keeping.done()
        kept.check()


@pytest.mark.anyio
async def test_what_a_server_says_goes_on_to_standard_error_and_is_not_kept(capsys):
    lines = restarting.LAST_LINES + 20
    code = f"for number in range({lines}): print('line', number)"
    async with kept_server([sys.executable, "-c", code], prefix="[one] ") as kept:
        with pytest.raises(CannotStart, match=f"line {lines - 1}\n"):
            await kept.until_ready()
        assert len(kept.said) == restarting.LAST_LINES
    assert re.findall(r"\[one\] line (\d+)\n", capsys.readouterr().err) == [str(number) for number in range(lines)]


@pytest.mark.parametrize("keeper_first", [False, True])  # as Ray does, which kills the children of its workers
def test_a_server_ends_with_its_replica(keeper_first):
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
        server = server_of(keeper.pid)
        if keeper_first:
            replica.send_signal(signal.SIGSTOP)
            keeper.kill()
        replica.kill()
    limit = time.monotonic() + 10
    while lives(server) or lives(keeper):
        assert time.monotonic() < limit, "the server outlived its replica"
        time.sleep(0.05)


@pytest.mark.anyio
async def test_a_server_that_cannot_start_says_why():
    async with kept_server([sys.executable, "-c", "raise SystemExit('no such model')"]) as kept:
        with pytest.raises(CannotStart, match="the server ended with 1: no such model"):
            await kept.until_ready()
        with pytest.raises(CannotStart, match="no such model"):
            kept.check()


@pytest.mark.anyio
async def test_a_server_that_is_never_ready_is_not_waited_for_without_end(monkeypatch):
    monkeypatch.setattr(restarting, "START_SECONDS", 0.2)
    async with kept_server([sys.executable, "-c", "import time; time.sleep(60)"]) as kept:
        with pytest.raises(CannotStart, match="is not ready after"):
            await kept.until_ready()


def test_options_become_the_words_of_a_command_line():
    options = {"model": Path("a b"), "port": 8000, "time_limit": 1.5, "log_json": True, "mine": False, "api_key": None}
    assert start.as_arguments(options) == ["--model", "a b", "--port", "8000", "--time-limit", "1.5", "--log-json"]


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
