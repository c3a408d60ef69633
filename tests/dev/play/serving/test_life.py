"""From the first signal to the exit status: a server drains, is ended, or ends because its model did."""

import asyncio
import dataclasses
import json
import os
import signal
from contextlib import asynccontextmanager

import pytest

from play.serving.front.admission import Places
from play.serving.front.running import Running
from play.serving.front.stack import Watching, stacked
from play.serving.front.standing import Standing
from play.serving.life import MODEL_ENDED, OUT_OF_TIME, Life, ModelEnded
from tests.dev.play.serving.asgi import LIMITS, TEXT, Answer, Model, ask, until

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


class Listening:
    """Serves nobody, until it is to end."""

    should_exit = force_exit = False

    async def serve(self):
        while not self.should_exit:
            await asyncio.sleep(0.001)


class Server:
    """A whole life, with models that a test can end."""

    def __init__(self, *, grace=60.0, restart=False):
        self.standing, self.told, self.readies = Standing(), [], 0
        self.running = Running(self.standing, 60.0)
        self.app = stacked(
            self.running,
            self.standing,
            Places(8, 8),
            LIMITS,
            None,
            Watching((), lambda: 0, lambda: (b"", "text/plain")),
        )
        self.models, self.ends, self.fail = [], [], False
        self.listening = Listening()
        self.life = Life(self.standing, self.running, self.start_model, grace, restart, self.told.append, self.ready)

    def ready(self):
        self.readies += 1

    @asynccontextmanager
    async def start_model(self):
        if self.fail:
            raise ModelEnded("Killed")
        model, task = Model(), asyncio.current_task()
        model.go.clear()
        self.models.append(model)
        dead = False

        def end():  # as MAX does: what waits inside is canceled, and that becomes an error
            nonlocal dead
            dead = True
            task.cancel()

        self.ends.append(end)
        try:
            yield model
        except asyncio.CancelledError:
            if dead:
                task.uncancel()
                raise ModelEnded("Killed") from None
            raise

    async def __aenter__(self):
        self.living = asyncio.create_task(self.life.live(self.listening))
        await until(lambda: self.standing.app or self.living.done())
        return self

    async def __aexit__(self, *_):
        assert self.living.done(), "a server is left"

    async def status(self):
        async with asyncio.timeout(5):
            return await self.living

    async def ask_and_run(self, **fields):
        answer, asked = Answer(), len(self.models[-1].asked)
        task = asyncio.create_task(ask(self.app, TEXT | fields, answer=answer))
        await until(lambda: len(self.models[-1].asked) > asked and (answer.body or not fields))
        return task, answer


def send(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_lets_what_runs_finish_and_takes_nothing_new(number):
    async with Server() as server:
        task, answer = await server.ask_and_run()
        streaming, stream = await server.ask_and_run(stream=True)
        send(number)
        await until(lambda: server.standing.draining)
        assert (await ask(server.app, None, path="/ready")).status == 503
        assert (await ask(server.app, None, path="/health")).status == 200
        assert (await ask(server.app)).status == 503
        await asyncio.sleep(0.1)
        assert not server.living.done()
        server.models[0].go.set()
        await asyncio.gather(task, streaming)
        assert (answer.status, json.loads(answer.body)) == (200, TEXT)
        assert stream.body.endswith(b"data: [DONE]\n\n")
        assert await server.status() == 0
    assert not server.listening.force_exit
    assert "nothing new is taken; this ends once what runs has finished (2 now), after 60 s" in server.told[0]


async def test_a_server_that_nobody_asks_ends_at_once():
    async with Server() as server:
        send(signal.SIGTERM)
        assert await server.status() == 0
    assert server.told == []


@pytest.mark.parametrize("grace", [0.0, 0.05])
async def test_what_has_not_finished_in_time_is_told_so_and_the_status_is_0_all_the_same(grace):
    async with Server(grace=grace) as server:
        task, answer = await server.ask_and_run()
        streaming, stream = await server.ask_and_run(stream=True)
        send(signal.SIGTERM)
        await asyncio.gather(task, streaming)
        assert (answer.status, answer.message) == (503, OUT_OF_TIME)
        assert OUT_OF_TIME.encode() in stream.body
        assert await server.status() == 0


@pytest.mark.parametrize(("first", "second", "status"), [(15, 15, 143), (15, 2, 130), (2, 2, 130)])
async def test_a_second_signal_ends_it(first, second, status):
    async with Server() as server:
        task, answer = await server.ask_and_run()
        send(first)
        await until(lambda: server.standing.draining)
        send(second)
        await task
        assert (answer.status, answer.message) == (503, OUT_OF_TIME)
        assert await server.status() == status
    assert server.listening.force_exit


async def test_a_client_that_does_not_read_does_not_keep_it_alive(monkeypatch):
    monkeypatch.setattr("play.serving.life.LAST_WORDS_SECONDS", 0.05)
    async with Server(grace=0.05) as server:

        async def blocked(message):
            await asyncio.Event().wait()

        scope = {"type": "http", "method": "POST", "path": "/v1/completions", "headers": []}

        async def receive():
            return {"type": "http.request", "body": json.dumps(TEXT | {"stream": True}).encode()}

        task = asyncio.create_task(server.app(scope, receive, blocked))
        await until(lambda: server.running.runs)
        send(signal.SIGTERM)
        assert await server.status() == 0
        task.cancel()


async def test_when_the_model_ends_requests_are_told_and_the_server_ends_with_1():
    async with Server() as server:
        task, answer = await server.ask_and_run()
        server.ends[0]()
        await task
        assert (answer.status, answer.message) == (503, MODEL_ENDED)
        assert await server.status() == 1
        assert (await ask(server.app)).status == 503
    assert server.readies == 1


async def test_a_model_that_never_is_ready_ends_the_server_even_if_it_is_to_be_restarted():
    server = Server(restart=True)
    server.fail = True
    async with server:
        assert await server.status() == 1
    assert server.readies == 0


async def test_with_restart_the_model_comes_again_and_is_asked():
    async with Server(restart=True) as server:
        task, answer = await server.ask_and_run()
        server.ends[0]()
        await task
        assert answer.status == 503
        await until(lambda: server.readies == 2)
        task, answer = await server.ask_and_run()
        server.models[1].go.set()
        await task
        assert (answer.status, len(server.models), server.standing.restarts) == (200, 2, 1)
        assert server.told == ["the process that runs the model ended (Killed); it is started again"]
        server.fail = True
        server.ends[1]()
        assert await server.status() == 1


async def test_a_model_that_ends_while_the_server_drains_is_not_restarted():
    async with Server(restart=True) as server:
        task, answer = await server.ask_and_run()
        send(signal.SIGTERM)
        await until(lambda: server.standing.draining)
        server.ends[0]()
        await task
        assert (answer.status, answer.message) == (503, MODEL_ENDED)
        assert await server.status() == 0
    assert len(server.models) == 1


async def test_a_signal_while_the_model_gets_ready_ends_the_server():
    server = Server()
    starting = asyncio.Event()

    @asynccontextmanager
    async def slow():
        starting.set()
        await asyncio.Event().wait()
        yield

    living = asyncio.create_task(dataclasses.replace(server.life, model=slow).live(server.listening))
    await starting.wait()
    refused = await ask(server.app)
    assert (refused.status, refused.headers["retry-after"]) == (503, "5")
    assert refused.message == "the model is getting ready"
    send(signal.SIGTERM)
    async with asyncio.timeout(5):
        assert await living == 0


async def test_a_defect_is_not_taken_for_an_end():
    server = Server()

    @asynccontextmanager
    async def defective():
        raise KeyError("a defect")
        yield

    with pytest.raises(KeyError):
        await dataclasses.replace(server.life, model=defective).live(server.listening)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
