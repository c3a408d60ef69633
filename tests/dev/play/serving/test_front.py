"""The whole front before an application that a test controls: no MAX and no network."""

import asyncio
import contextlib
import json
import logging
import signal
import subprocess
import sys

import httpx
import pytest

from checker.course.paths import ROOT
from checker.errors import UserError
from play.serving import front
from play.serving.keys import Keys, keys_of
from play.serving.options import LARGEST_BODY, Options
from play.serving.records import CURRENT
from play.serving.service import DRAINING, MODEL_ENDED, OUT_OF_TIME, Service
from play.serving.validation import ModelLimits

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

LIMITS = ModelLimits("whale", n_positions=64, vocab_size=256, encode=lambda text: list(text.encode()))
TEXT = {"model": "whale", "prompt": "Call me"}
KEY, OTHER = "whale-3f9c", "ahab-é-77"


class Server:
    """The front before a model whose answers wait for ``go``."""

    def __init__(self, *, batch=2, queue=1, seconds=60.0, keys=None):
        self.service, self.asked, self.go = Service(batch, queue, seconds), [], asyncio.Event()
        self.go.set()
        self.service.app = self.model
        self.app = front.front(self.service, LIMITS, keys)
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://here")

    async def model(self, scope, receive, send):
        request = json.loads((await receive())["body"] or b"{}")
        self.asked.append(request)
        stream = request.get("stream", False)
        kind = b"text/event-stream; charset=utf-8" if stream else b"application/json"
        if not stream:
            await self.go.wait()
        headers = [(b"content-type", kind), (b"x-request-id", b"of-the-model")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if stream:
            await send({"type": "http.response.body", "body": b"data: one\n\n", "more_body": True})
            await self.go.wait()
        CURRENT.get().generated_tokens += 7
        body = b"data: [DONE]\n\n" if stream else json.dumps(request).encode()
        await send({"type": "http.response.body", "body": body})

    async def ask(self, **fields):
        return await self.client.post("/v1/completions", json=TEXT | fields)

    async def start(self, **fields):
        """Ask, and return the task once the model has the request."""
        count, task = len(self.asked), asyncio.create_task(self.ask(**fields))
        await until(lambda: len(self.asked) > count)
        return task


async def until(condition):
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0)


def message(answer):
    return answer.json()["error"]["message"]


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def records(caplog):
    """What has been logged of each request."""
    caplog.set_level(logging.INFO, "play.serving")
    return lambda: [record for record in caplog.records if record.name == "play.serving"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"# two of them\n{KEY}\r\n\n  {OTHER}\t\n")
    return path


async def never():
    yield b'{"prompt"'
    await asyncio.Event().wait()


async def zeros(pieces):
    for _ in range(pieces):
        yield bytes(1 << 18)


PATHS = "/v1/completions, /v1/models, /version, /health, /ready, /metrics"
WITH_KEY = {"authorization": f"Bearer {KEY}"}
KEYED, COMPLETE = {"headers": WITH_KEY}, "/v1/completions"
HEADERS = {401: ("www-authenticate", "Bearer"), 405: ("allow", "GET"), 408: ("connection", "close")}


@pytest.mark.parametrize(
    ("method", "path", "how", "status", "sentence"),
    [
        ("POST", COMPLETE, {"json": TEXT}, 401, "Authorization: Bearer KEY"),
        ("GET", "/nowhere", {}, 401, "the key is missing"),
        ("GET", "/v1/models", {"headers": {"authorization": f"Bearer {KEY}x"}}, 401, "is not one of this server's"),
        ("GET", "/v1/models", {"headers": {"authorization": f"Basic {KEY}"}}, 401, "the key is missing"),
        ("POST", "/v1/chat/completions", KEYED, 404, f"served at /v1/chat/completions; the paths are {PATHS}"),
        ("GET", "/" + "x" * 50_000, KEYED, 404, "nothing is served at /xxx"),
        ("POST", "/v1/models", KEYED, 405, "/v1/models takes GET, not POST"),
        ("POST", COMPLETE, KEYED | {"content": b"{"}, 400, "must be a JSON object"),
        ("POST", COMPLETE, KEYED | {"json": TEXT | {"model": "x"}}, 404, 'must be "whale"'),
        ("POST", COMPLETE, KEYED | {"content": zeros(5)}, 413, "larger than 1,048,576 bytes"),
        ("POST", COMPLETE, KEYED | {"content": never()}, 408, "within 0.05 s"),
    ],
)
async def test_what_is_not_served_is_refused_in_words(method, path, how, status, sentence, file, monkeypatch):
    monkeypatch.setattr(front, "BODY_SECONDS", 0.05)
    server = Server(keys=Keys(file))
    answer = await server.client.request(method, path, **how)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, str(status))
    assert sentence in message(answer)
    assert len(answer.content) < 1000
    assert KEY not in answer.text
    if status in HEADERS:
        name, value = HEADERS[status]
        assert value in answer.headers[name]
    assert (server.asked, server.service.taken) == ([], 0)


async def test_a_valid_request_gets_the_models_answer_an_id_and_a_record(file, records):
    server = Server(keys=Keys(file))
    padded = json.dumps(TEXT | {"max_tokens": 3, "user": "Ahab"}).encode().ljust(LARGEST_BODY)
    for key in (KEY.encode(), OTHER.encode()):
        sent = {"authorization": b"bearer  " + key, "x-request-id": "req-1.2_3:4=5+6/7"}
        answer = await server.client.post("/v1/completions", content=padded, headers=sent)
        assert (answer.status_code, answer.json()) == (200, TEXT | {"max_tokens": 3})
        assert answer.headers.get_list("x-request-id") == ["req-1.2_3:4=5+6/7"]
    expected = {"status": 200, "complete": True, "texts": 1, "generated_tokens": 7}
    assert vars(records()[-1]).items() >= expected.items()
    for sent in ("", "x" * 129, "a b", "é".encode()):
        answer = await server.client.get("/v1/models", headers=WITH_KEY | {"x-request-id": sent})
        assert len(answer.headers["x-request-id"]) == 32
    refused = await server.client.get("/nowhere")
    assert (records()[-1].id, records()[-1].status) == (refused.headers["x-request-id"], 401)


async def test_the_file_of_keys_is_read_anew_for_each_request(file):
    server = Server(keys=Keys(file))
    for content, status in (("another\n", 401), (f"{KEY}\n", 200), ("# none\n", 401), (None, 401)):
        file.write_text(content) if content else file.unlink()
        assert (await server.client.get("/v1/models", headers=WITH_KEY)).status_code == status


def test_other_machines_need_a_key_unless_it_is_waived(file, tmp_path):
    for host, path, no_key in (("127.0.0.1", None, False), ("0.0.0.0", None, True), ("0.0.0.0", file, False)):
        assert (keys_of(Options("", host, api_key=path, no_key=no_key)) is None) == (path is None)
    (tmp_path / "empty").touch()
    for host, path, no_key, sentence in (
        ("0.0.0.0", None, False, "give --api-key FILE, a file with one key per line, or say --no-key"),
        ("127.0.0.1", file, True, "exclude each other"), ("127.0.0.1", tmp_path / "empty", False, "has no key"),
        ("127.0.0.1", tmp_path / "a-key-by-mistake", False, "cannot be read"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=sentence) as refusal:
            Keys.digests(keys_of(Options("", host, api_key=path, no_key=no_key)))
        assert "mistake" not in str(refusal.value)


async def test_so_many_texts_run_so_many_wait_and_the_next_request_is_told_to_come_again(records):
    server = Server(batch=2, queue=2)
    server.go.clear()
    tasks = [await server.start(n=3), await server.start(prompt=[1, 2, 3])]  # the second: one text of three tokens
    refused = await server.ask()
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert message(refused) == "2 texts run and 2 wait, and no more are taken; ask again"
    assert (await server.ask(prompt="")).status_code == 400  # which takes no place
    figures = (await server.client.get("/metrics")).text
    assert "gpt2_texts_running 2.0" in figures
    assert "gpt2_texts_waiting 2.0" in figures
    listing = asyncio.create_task(server.client.get("/v1/models"))  # nor does this
    server.go.set()
    assert [answer.status_code for answer in await asyncio.gather(*tasks, listing)] == [200] * 3

    async def broken(scope, receive, send):
        raise ValueError("this is a defect")

    server.service.app = broken
    assert (await server.ask()).status_code == 500
    assert (records()[-1].error, server.service.taken, server.service.runs) == (500, 0, {})


@pytest.mark.parametrize("why", [None, MODEL_ENDED])
async def test_a_request_that_is_ended_is_told_by_a_status_or_in_its_stream(why, records):
    server = Server(batch=4, seconds=60.0 if why else 0.05)
    server.go.clear()
    tasks = [await server.start(), await server.start(stream=True)]
    if why:
        server.service.end_all(why)
        server.service.end_all("said twice")
    text, stream = await asyncio.wait_for(asyncio.gather(*tasks), 30)
    status, sentence = (503, why) if why else (504, "the request took longer than 0.05 s")
    assert (text.status_code, text.headers.get("retry-after")) == (status, "5" if why else None)
    assert message(text).startswith(sentence)
    first, last, rest = stream.text.split("\n\n")
    assert (stream.status_code, first, rest) == (200, "data: one", "")
    assert json.loads(last.removeprefix("data: "))["error"]["message"].startswith(sentence)
    assert [(record.error, record.ended) for record in records()] == [(status, message(text))] * 2
    assert (server.service.taken, server.service.runs) == (0, {})


@pytest.mark.parametrize("pieces", [[], [b"data: one\n\n"], [b"data: one\n\n", b"data: [DONE]\r\n\r\n"]])
async def test_a_client_that_leaves_early_is_told_apart_from_one_that_has_everything(pieces, records):
    """OpenAI's client hangs up on the last event."""
    server = Server()

    async def streams(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})

    server.service.app = streams
    with contextlib.suppress(AssertionError):  # the transport wants an end of the answer
        await server.ask()
    assert records()[-1].complete == (len(pieces) == 2)
    line = f'gpt2_requests_total{{path="/v1/completions",status="{200 if len(pieces) == 2 else 499}"}}'
    assert line in (await server.client.get("/metrics")).text


async def test_alive_and_able_are_two_things(records):
    server = Server()
    assert [(await server.client.get(path)).status_code for path in ("/health", "/ready")] == [200, 200]
    server.service.app, server.service.why = None, "it has ended"
    assert [(await server.client.get(path)).status_code for path in ("/health", "/ready")] == [200, 503]
    assert records() == [], "probes fill no log"
    refused = await server.ask()
    assert (refused.status_code, refused.headers["retry-after"], message(refused)) == (503, "5", "it has ended")


async def test_a_drain_takes_nothing_new_and_tells_what_has_not_finished_in_time():
    server = Server(batch=8)
    server.go.clear()
    tasks = [await server.start(), await server.start(stream=True)]
    draining = asyncio.create_task(server.service.drain(60.0))
    await until(lambda: server.service.draining)
    for refused in (await server.ask(), await server.client.get("/ready")):
        assert (refused.status_code, message(refused)) == (503, DRAINING)
    assert not any(task.done() for task in tasks)
    await server.service.drain(0)  # a second signal
    text, stream = await asyncio.wait_for(asyncio.gather(*tasks), 30)
    assert (text.status_code, message(text)) == (503, OUT_OF_TIME)
    assert OUT_OF_TIME in stream.text
    await draining


LIFE = """
import asyncio, contextlib, socket, sys
from play.serving.front import front
from play.serving.life import live
from play.serving.service import ModelEnded, Service
from play.serving.validation import ModelLimits

@contextlib.asynccontextmanager
async def model():
    if sys.argv[1] == "ended":
        raise ModelEnded("killed")
    yield lambda scope, receive, send: asyncio.Event().wait()

async def serve(taken):
    service, limits = Service(1, 1, 60), ModelLimits("whale", 64, 256, list)
    keeping = service.keep(model, False, tell, "ready")
    return await live(service, keeping, front(service, limits, None), taken, 60, tell)

def tell(sentence):
    print(sentence, flush=True)

with socket.create_server(("127.0.0.1", 0)) as taken:
    tell(taken.getsockname()[1])
    sys.exit(asyncio.run(serve(taken)))
"""


@pytest.mark.parametrize(("how", "status"), [("ended", 1), ("idle", 0), ("running", 128 + signal.SIGINT)])
async def test_a_server_ends_with_its_model_or_by_a_signal_and_at_once_by_a_second_one(how, status):
    command = [sys.executable, "-c", LIFE, how]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        address = f"http://127.0.0.1:{process.stdout.readline().strip()}"
        ready = process.stdout.readline()
        async with httpx.AsyncClient(base_url=address, timeout=30) as client:
            if how == "running":
                asked = asyncio.create_task(client.post(COMPLETE, json=TEXT | {"prompt": [1]}))
                while "gpt2_texts_running 1.0" not in (await client.get("/metrics")).text:
                    await asyncio.sleep(0.01)
                process.send_signal(signal.SIGTERM)
                while (await client.get("/ready")).status_code != 503:
                    await asyncio.sleep(0.01)
                process.send_signal(signal.SIGINT)
                assert message(await asked) == OUT_OF_TIME
            elif how == "idle":
                process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == status
    assert (ready == "ready\n") == (how != "ended")
