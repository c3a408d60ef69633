"""The whole front before an application that a test controls: no MAX and no network."""

import asyncio
import json
import signal

import httpx
import pytest

from play.serving import front, service
from play.serving.keys import Keys, is_loopback, keys_of
from play.serving.options import LARGEST_BODY, CannotServe, Options
from play.serving.records import CURRENT
from play.serving.service import DRAINING, MODEL_ENDED, OUT_OF_TIME, STUCK_SECONDS, Service
from play.serving.validation import ModelLimits

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

LIMITS = ModelLimits("whale", n_positions=64, vocab_size=256, encode=lambda text: list(text.encode()))
TEXT = {"model": "whale", "prompt": "Call me"}
KEY, OTHER = "whale-3f9c", "ahab-é-77"


class Server:
    """The front before a model whose answers wait for ``go``."""

    def __init__(self, *, batch=2, queue=1, seconds=60.0, keys=None):
        self.service, self.records, self.asked = Service(batch, queue, seconds, lambda: self.last_batch), [], []
        self.last_batch, self.go = 0.0, asyncio.Event()
        self.go.set()
        self.service.app = self.model
        self.app = front.front(self.service, LIMITS, keys)
        self.app.user_middleware[0].args[0].append(self.records.append)
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://here")

    async def model(self, scope, receive, send):
        request = json.loads((await receive())["body"] or b"{}")
        self.asked.append(request)
        if request.get("user_error"):
            raise ValueError("this is a defect")
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

    async def get(self, path, **how):
        return await self.client.get(path, **how)

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
        ("GET", "/v1/models", {"headers": [*WITH_KEY.items()] * 2}, 401, "the key is missing"),
        ("POST", "/v1/chat/completions", KEYED, 404, f"served at /v1/chat/completions; the paths are {PATHS}"),
        ("POST", "/v1/completions/", KEYED, 404, "nothing is served at /v1/completions/"),
        ("POST", "/reset_prefix_cache", KEYED, 404, "nothing is served at /reset_prefix_cache"),
        ("GET", "/" + "x" * 50_000, KEYED, 404, "nothing is served at /xxx"),
        ("POST", "/v1/models", KEYED, 405, "/v1/models takes GET, not POST"),
        ("POST", "/ready", {}, 405, "/ready takes GET, not POST"),
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
    assert answer.status_code == status
    assert sentence in message(answer)
    assert answer.json()["error"]["code"] == str(status)
    assert len(answer.content) < 1000
    assert KEY not in answer.text
    if status in HEADERS:
        name, value = HEADERS[status]
        assert value in answer.headers[name]
    assert (server.asked, server.service.taken) == ([], 0)


async def test_a_valid_request_gets_the_models_answer_an_id_and_a_record(file):
    server = Server(keys=Keys(file))
    padded = json.dumps(TEXT | {"max_tokens": 3, "user": "Ahab"}).encode().ljust(LARGEST_BODY)
    for key in (KEY.encode(), OTHER.encode()):
        sent = {"authorization": b"bearer  " + key, "x-request-id": "req-1.2_3:4=5+6/7"}
        answer = await server.client.post("/v1/completions", content=padded, headers=sent)
        assert (answer.status_code, answer.json()) == (200, TEXT | {"max_tokens": 3})
        assert answer.headers.get_list("x-request-id") == ["req-1.2_3:4=5+6/7"]
    record = server.records[-1]
    expected = {"model_id": "of-the-model", "status": 200, "complete": True, "texts": 1, "generated_tokens": 7}
    assert vars(record).items() >= expected.items()
    for sent in ("", " ", "x" * 129, "a b", "é".encode(), "{}", "a,b"):
        answer = await server.get("/v1/models", headers=WITH_KEY | {"x-request-id": sent})
        assert len(answer.headers["x-request-id"]) == 32
    refused = await server.get("/nowhere")
    assert (server.records[-1].id, server.records[-1].status) == (refused.headers["x-request-id"], 401)


async def test_the_file_of_keys_is_read_anew_for_each_request(file):
    server = Server(keys=Keys(file))
    for content, status in (("another\n", 401), (f"{KEY}\n", 200), ("# none\n", 401), (None, 401), (f"{KEY}\n", 200)):
        file.write_text(content) if content else file.unlink()
        assert (await server.get("/v1/models", headers=WITH_KEY)).status_code == status


@pytest.mark.parametrize(
    ("host", "content", "no_key", "sentence"),
    [
        ("127.0.0.1", None, False, ""), ("localhost", None, False, ""), ("::1", None, False, ""),
        ("0.0.0.0", None, True, ""), ("0.0.0.0", "k", False, ""),
        ("0.0.0.0", None, False, "give --api-key FILE, a file with one key per line, or say --no-key"),
        ("", None, False, "lets other machines ask"), ("10.0.0.1", None, False, "lets other machines ask"),
        ("127.0.0.1", "k", True, "exclude each other"), ("127.0.0.1", "# none", False, "has no key"),
        ("127.0.0.1", "", False, "cannot be read"),
    ],
)  # fmt: skip
def test_other_machines_need_a_key_unless_it_is_waived(host, content, no_key, sentence, tmp_path):
    path = tmp_path / "secret-name" if content is not None else None
    if content:
        path.write_text(content)
    options = Options("", host, 0, "cpu", 1, 1, 1, 1, False, False, False, False, path)
    if sentence:
        with pytest.raises(CannotServe, match=sentence) as refusal:
            Keys.digests(keys_of(options, no_key))
        assert "secret-name" not in str(refusal.value)
    else:
        assert (keys_of(options, no_key) is None) == (path is None)
    assert is_loopback(host) == (host in ("127.0.0.1", "localhost", "::1"))


async def test_so_many_texts_run_so_many_wait_and_the_next_request_is_told_to_come_again():
    server = Server(batch=2, queue=2)
    server.go.clear()
    tasks = [await server.start(n=3), await server.start(prompt=[1, 2, 3])]  # the second: one text of three tokens
    assert (server.service.running, server.service.taken) == (2, 4)
    refused = await server.ask()
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert message(refused) == "2 texts run and 2 wait, and no more are taken; ask again"
    assert refused.json()["error"]["type"] == "rate_limit_error"
    assert (await server.ask(prompt="")).status_code == 400  # which takes no place
    figures = (await server.get("/metrics")).text
    assert "gpt2_texts_running 2.0" in figures
    assert "gpt2_texts_waiting 2.0" in figures
    listing = asyncio.create_task(server.get("/v1/models"))  # nor does this
    server.go.set()
    assert [answer.status_code for answer in await asyncio.gather(*tasks, listing)] == [200] * 3
    server.service.app = None
    assert (await server.ask()).status_code == 503
    server.service.app = broken
    assert (await server.ask()).status_code == 500
    assert (server.records[-1].outcome, server.service.taken, server.service.runs) == (500, 0, {})


async def broken(scope, receive, send):
    raise ValueError("this is a defect")


@pytest.mark.parametrize("why", [None, MODEL_ENDED])
async def test_a_request_that_is_ended_is_told_by_a_status_or_in_its_stream(why):
    server = Server(batch=4, seconds=60.0 if why else 0.05)
    server.go.clear()
    tasks = [await server.start(), await server.start(stream=True)]
    if why:
        server.service.end_all(why, 5)
        server.service.end_all("said twice", 5)
    text, stream = await asyncio.gather(*tasks)
    status, sentence = (503, why) if why else (504, "the request took longer than 0.05 s")
    assert (text.status_code, text.headers.get("retry-after")) == (status, "5" if why else None)
    assert message(text).startswith(sentence)
    first, last, rest = stream.text.split("\n\n")
    assert (stream.status_code, first, rest) == (200, "data: one", "")
    assert json.loads(last.removeprefix("data: "))["error"]["message"].startswith(sentence)
    assert [(record.outcome, record.ended) for record in server.records] == [(status, message(text))] * 2
    assert (server.service.taken, server.service.runs) == (0, {})


@pytest.mark.parametrize(
    ("pieces", "outcome"), [([b"data: one\n\n"], 499), ([b"data: one\n\n", b"data: [DONE]\r\n\r\n"], 200), ([], 499)]
)
async def test_a_client_that_leaves_early_is_told_apart_from_one_that_has_everything(pieces, outcome):
    """OpenAI's client hangs up on the last event."""
    server = Server()

    async def streams(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})

    async def receive():
        return {"type": "http.request", "body": json.dumps(TEXT).encode()}

    async def send(part):
        pass

    server.service.app = streams
    scope = {"type": "http", "method": "POST", "path": "/v1/completions", "headers": [], "query_string": b""}
    await server.app(scope, receive, send)
    assert server.records[-1].outcome == outcome


async def test_alive_and_able_are_two_things(monkeypatch):
    server, now = Server(), 1000.0
    monkeypatch.setattr(service.time, "monotonic", lambda: now)

    async def probes():
        answers = [await server.get(path) for path in ("/health", "/ready")]
        return answers[0].status_code, answers[1].status_code, answers[1].json().get("why", "")

    assert await probes() == (200, 200, "")
    server.go.clear()
    now += 2 * STUCK_SECONDS  # in which nobody asks for anything
    task = await server.start()
    now += STUCK_SECONDS - 1
    assert await probes() == (200, 200, "")
    now += 2
    assert await probes() == (200, 503, "the model has run nothing for 301 s, and texts wait")
    server.last_batch = now
    assert await probes() == (200, 200, "")
    server.go.set()
    await task
    server.service.app, server.service.why = None, "it has ended"
    assert await probes() == (200, 503, "it has ended")
    assert message(await server.ask()) == "it has ended"
    server.service.app, server.service.draining = server.model, True
    assert await probes() == (200, 503, DRAINING)
    assert (await server.client.head("/health")).status_code == 200
    assert {record.path for record in server.records} == {"/v1/completions"}  # probes fill no log
    assert 'gpt2_requests_total{path="/v1/completions",status="503"}' in (await server.get("/metrics")).text


async def test_a_drain_takes_nothing_new_and_tells_what_has_not_finished_in_time():
    server = Server(batch=8)
    server.go.clear()
    tasks = [await server.start(), await server.start(stream=True)]
    hurry = asyncio.get_running_loop().create_future()
    draining = asyncio.create_task(server.service.drain(60.0, hurry))
    await until(lambda: server.service.draining)
    refused = await server.ask()
    assert (refused.status_code, refused.headers["retry-after"], message(refused)) == (503, "1", DRAINING)
    hurry.set_result(signal.SIGTERM)
    text, stream = await asyncio.gather(*tasks)
    assert (text.status_code, message(text)) == (503, OUT_OF_TIME)
    assert OUT_OF_TIME in stream.text
    await draining
