"""The whole front before a model that a test controls: no MAX, and but for the last test no network."""

import asyncio
import contextlib
import gc
import json
import logging
import os
import signal
import socket
import threading
import time
from dataclasses import replace

import httpx
import numpy as np
import pytest
from prometheus_client import REGISTRY
from pydantic import ValidationError

from checker.errors import UserError
from play.serving import connections, front, service
from play.serving.keys import Keys, keys_of
from play.serving.life import live
from play.serving.options import LARGEST_BODY, ServerOptions
from play.serving.request_log import CURRENT
from play.serving.service import DRAINING, MODEL_ENDED, OUT_OF_TIME, ModelEnded, Service
from play.serving.validation import (
    UNREAD,
    InvalidRequest,
    ModelLimits,
    chat_request,
    completion_request,
    valid_completion,
)

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


def encode(text):
    """A token for each letter, for texts that may fit."""
    assert len(text.encode()) <= 13 * 4, "refused before it takes time"
    return [ord(letter) % 37 for letter in text]


def encode_chat(messages):
    """A token for each letter of what is said, whoever says it."""
    return encode("".join(content for _, content in messages))


LIMITS = ModelLimits("whale", 13, 37, encode, longest_token=4, most_choices=5)
ANSWERING = replace(LIMITS, encode_chat=encode_chat)
TEXT = {"model": "whale", "prompt": "Call me", "max_tokens": 2}
SEEN = TEXT | {"prompt": [encode("Call me")]}
KEY, OTHER = "whale-3f9c", "ahab-é-77"
COMPLETE, WITH_KEY = "/v1/completions", {"authorization": f"Bearer {KEY}"}
CHAT, TALK = "/v1/chat/completions", {"model": "whale", "messages": [{"role": "user", "content": "Who?"}]}


class Server:
    """The front before a model that answers with the request, and waits for ``go`` before the end of its answer."""

    def __init__(self, *, batch=2, queue=1, seconds=60.0, keys=None, limits=LIMITS):
        self.service, self.asked, self.go = Service(batch, queue, seconds), [], asyncio.Event()
        self.go.set()
        self.service.app = self.model
        self.app = front.Front(self.service, limits).app(keys)
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
        return await self.client.post(COMPLETE, json=TEXT | fields)

    async def talk(self, **fields):
        return await self.client.post(CHAT, json=TALK | fields)

    async def start(self, **fields):
        """Ask, and return the task once the model has the request."""
        count, task = len(self.asked), asyncio.create_task(self.ask(**fields))
        await until(lambda: len(self.asked) > count)
        return task

    async def statuses(self, *paths):
        return [(await self.client.get(path)).status_code for path in paths]


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


def body(content):
    return "POST", COMPLETE, {"headers": WITH_KEY, "content": content}


def fields(**changed):
    return body(json.dumps(TEXT | changed))


PATHS = "/v1/completions, /v1/chat/completions, /v1/models, /v1/models/{model}, /version, /health, /ready, /metrics"
KEYED = {"headers": WITH_KEY}
HEADERS = {401: ("www-authenticate", "Bearer"), 405: ("allow", "GET"), 408: ("connection", "close")}


@pytest.mark.parametrize(
    ("request_", "status", "sentence"),
    [
        (("POST", COMPLETE, {"json": TEXT}), 401, "Authorization: Bearer KEY"),
        (("GET", "/nowhere", {}), 401, "the key is missing"),
        (("GET", "/v1/models", {"headers": {"authorization": f"Bearer {KEY}x"}}), 401, "is not one of this server's"),
        (("GET", "/v1/models", {"headers": {"authorization": f"Basic {KEY}"}}), 401, "the key is missing"),
        (("POST", "/v1/embeddings", KEYED), 404, f"served at /v1/embeddings; the paths are {PATHS}"),
        (
            ("POST", CHAT, KEYED),
            400,
            '"whale" continues texts, at /v1/completions, and does not answer; `./run serve --',
        ),
        (("GET", "/" + "x" * 50_000, KEYED), 404, "nothing is served at /xxx"),
        (("POST", "/v1/models", KEYED), 405, "/v1/models takes GET, not POST"),
        (("GET", "/v1/models/ahab", KEYED), 404, 'model = "ahab" must be "whale", which is served here'),
        (("GET", "/v1/completions/", KEYED), 404, "nothing is served at /v1/completions/"),
        (body(zeros(5)), 413, "larger than 1,048,576 bytes"),
        (body(never()), 408, "within 0.05 s"),
        (body(b"{"), 400, "must be a JSON object"),
        (body(b'["prompt"]'), 400, "must be a JSON object"),
        (body(b'{"prompt": ' + b"[" * 100_000), 400, "must be a JSON object"),
        (body(b'{"model": "whale", "prompt": %s}' % (b"[" * 190 + b"]" * 190)), 400, "prompt = "),
        (fields(model="x"), 404, 'model = "x" must be "whale", which is served here'),
        (
            fields(prompt=None),
            400,
            "prompt = null must be a text, token ids, or a list of either, each of at least one",
        ),
        (fields(prompt=["a", ""]), 400, 'prompt = "" must be'),
        (fields(prompt=[1, "a"]), 400, 'prompt = [1, "a"] must be a text, token ids'),
        (fields(prompt=["a", 5] + [{}] * 100_000), 400, "prompt = 5 must be a text, token ids"),
        (fields(prompt=["a"] * 6), 400, "at most 5 of them"),
        (
            fields(prompt="é" * 27),
            400,
            "the prompt has 54 bytes; the model's context has room for 13 tokens, which are",
        ),
        (fields(prompt=[36, 37]), 400, "token id 37 is not in the vocabulary of 37 tokens"),
        (fields(prompt="a" * 13, max_tokens=None), 400, "the prompt has 13 tokens and 1 more are asked for"),
        (fields(prompt=["a", "a" * 12], max_tokens=2), 400, "the prompt has 12 tokens and 2 more"),
        (fields(max_tokens=0), 400, "max_tokens = 0 must be a whole number from 1 to 13"),
        (fields(temperature=float("nan")), 400, "temperature = NaN must be a number from 0 to 2"),
        (fields(top_k=38), 400, "top_k = 38 must be a whole number from -1 to 37"),
        (fields(n=6), 400, "n = 6 must be a whole number from 1 to 5"),
        (fields(prompt=["a"] * 3, n=2), 400, "2 texts for each of 3 prompts are more than 5; split the request"),
        (fields(n=2, stream=True), 400, "one request streams one text"),
        (fields(stream="yes"), 400, 'stream = "yes" must be true or false'),
        (fields(stream=True, stream_options={"other": True}), 400, 'stream_options = "other" must be {"include_usage"'),
        (fields(stream_options={"include_usage": True, "other": True}), 400, "true}, or left out"),
        (fields(echo=True), 400, "echo = true must be left out; it is not offered here"),
        (fields(stop=[""]), 400, 'stop = [""] must be a text, or a list of at most 16 texts, each of 1 to'),
        (fields(stop=["b"] * 17), 400, "a list of at most 16 texts"),
        (fields(stop_token_ids=[0] * 129), 400, "a list of at most 128 token ids"),
        (fields(stop_token_ids=[37]), 400, "token id 37 is not in the vocabulary"),
        (fields(temprature=1), 400, "temprature must be left out; the fields that are served are model, prompt"),
    ],
)
async def test_what_is_not_served_is_refused_in_words(request_, status, sentence, file, monkeypatch):
    monkeypatch.setattr(front, "BODY_SECONDS", 0.05)
    server, (method, path, how) = Server(keys=Keys(file)), request_
    answer = await server.client.request(method, path, **how)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, str(status))
    assert sentence in message(answer)
    assert len(answer.content) < 1000
    assert KEY not in answer.text
    if status in HEADERS:
        name, value = HEADERS[status]
        assert value in answer.headers[name]
    assert (server.asked, server.service.places_taken) == ([], 0)


NULL = dict.fromkeys(["stop", "top_p", "user", "stream_options", "seed", "logprobs"])
WITHOUT_EFFECT = dict(presence_penalty=-0.0, repetition_penalty=1.0, min_tokens=0, user="Ahab", echo=False, best_of=1)


@pytest.mark.parametrize(
    ("fields", "seen"),
    [
        ({"max_tokens": 6, "temperature": 0.5, "stop": ["."], "seed": 5}, None),
        ({"prompt": ["a", [1, 2]]}, {"prompt": [encode("a"), [1, 2]]}),
        (NULL | WITHOUT_EFFECT | {"n": 1}, {}),
        ({"max_tokens": None}, {"max_tokens": 16}),
        ({"prompt": ["a", "b"], "n": 2}, {"prompt": [encode(text) for text in "aabb"]}),
        ({"prompt": [1, 2], "n": 2}, {"prompt": [[1, 2], [1, 2]]}),
        ({"seed": 0}, {"seed": 1 << 62}),
    ],
)
async def test_a_valid_request_is_put_into_words_that_max_follows(fields, seen):
    """``max_tokens`` is 16 if it is left out, as at https://platform.openai.com/docs/api-reference/completions/create.

    MAX ends a text whose context is full before, as vLLM does.
    """
    assert (await Server(batch=5).ask(**fields)).json() == SEEN | (fields if seen is None else seen)


def said(**message):
    return {"messages": [{"role": "user", "content": "Who?"} | message]}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"messages": []}, "messages = [] must be a list of one or more messages, each with a role (system, "),
        ({"messages": "Who?"}, 'messages = "Who?" must be a list of one or more messages'),
        ({"messages": [{"content": "Who?"}]}, "must be a list of one or more messages"),
        (said(role="tool"), 'messages = "tool" must be a list of one or more messages'),
        (said(content=None), "messages = null must be"),
        (said(content=[{"type": "image_url", "image_url": {"url": "x"}}]), 'messages = [{"type": "image_url"'),
        (said(name="Ahab"), 'messages = {"role": "user", "content": "Who?", "name": "Ahab"} must be'),
        ({"messages": said()["messages"] * 14}, "at most 13 of them"),
        (said(content="é" * 27), "the prompt has 54 bytes"),
        (said(content="a" * 13), "the prompt has 13 tokens and 1 more are asked for"),
        ({"max_tokens": 13, "max_completion_tokens": 10}, "the prompt has 4 tokens and 10 more are asked for"),
        ({"max_completion_tokens": 0}, "max_completion_tokens = 0 must be a whole number from 1 to 13"),
        ({"n": 2}, "n = 2 must be 1 or left out; nothing else is offered here"),
        ({"tools": [{}]}, "tools = [{}] must be left out; it is not offered here"),
        ({"logprobs": True}, "logprobs = true must be left out"),
        ({"prompt": "Who?"}, "prompt must be left out; the fields that are served are model, messages, max_tokens"),
        ({"model": "ahab"}, 'model = "ahab" must be "whale"'),
    ],
)
async def test_a_conversation_that_cannot_be_answered_as_asked_is_refused_in_words(fields, sentence):
    server = Server(limits=ANSWERING)
    answer = await server.talk(**fields)
    assert answer.status_code == (404 if "model" in fields else 400)
    assert sentence in message(answer)
    assert (server.asked, server.service.places_taken) == ([], 0)


ECHOED = {"role": "assistant", "content": "I.", "refusal": None, "tool_calls": [], "annotations": []}
PARTS = [{"type": "text", "text": "Wh"}, {"type": "text", "text": "o?"}]


@pytest.mark.parametrize(
    ("fields", "heard", "seen"),
    [
        ({}, "Who?", {}),
        (said(content=PARTS), "Who?", {}),
        ({"messages": [*TALK["messages"], ECHOED, *TALK["messages"]]}, "Who?I.Who?", {}),
        (NULL | {"n": 1, "store": False, "presence_penalty": 0, "tools": None, "user": "Ahab"}, "Who?", {}),
        ({"temperature": 1, "top_p": 0.5, "max_tokens": 3}, "Who?", None),
        ({"seed": 0, "max_completion_tokens": 9}, "Who?", {"seed": 1 << 62, "max_completion_tokens": 9}),
        ({"stop": ["."], "stream": True, "stream_options": {"include_usage": True}}, "Who?", None),
    ],
)
async def test_a_conversation_becomes_tokens_and_is_greedy_unless_it_says_otherwise(fields, heard, seen):
    server = Server(limits=ANSWERING)
    assert (await server.talk(**fields)).status_code == 200
    unread = {"model": "whale", "messages": UNREAD, "prompt_tokens": encode(heard)}
    assert server.asked == [{"temperature": 0} | (fields if seen is None else seen) | unread]


#: What the program llm 0.36 sent for a question, for one with --system and --no-stream, and with --continue.
OF_LLM = (
    """{"model":"whale","stream":true,"messages":[{"role":"user","content":"Who?"}],
    "stream_options":{"include_usage":true}}""",
    """{"model":"whale","stream":false,"messages":[{"role":"system","content":"Be brief."},
    {"role":"user","content":"When?"}]}""",
    """{"model":"whale","stream":true,"messages":[{"role":"system","content":"Be brief."},
    {"role":"user","content":"When?"},{"role":"assistant","content":"I."},{"role":"user","content":"Why?"}],
    "max_tokens":12,"seed":3,"stream_options":{"include_usage":true},"temperature":0.5}""",
)


async def test_requests_of_a_chat_program_are_taken():
    server = Server(limits=replace(ANSWERING, n_positions=40))
    for sent in OF_LLM:
        answer = await server.client.post(CHAT, content=sent)
        assert (answer.status_code, answer.text.endswith("[DONE]\n\n")) == (200, '"stream":true' in sent)
        asked, request = server.asked[-1], json.loads(sent)
        assert asked["prompt_tokens"] == encode("".join(said["content"] for said in request["messages"]))
        assert asked.items() >= {name: request[name] for name in request if name != "messages"}.items()


async def test_who_says_what_is_told_to_chatml():
    heard = []
    server = Server(limits=replace(LIMITS, encode_chat=lambda messages: heard.append(messages) or [1]))
    roles = [{"role": role, "content": role} for role in ("developer", "user", "assistant", "system")]
    await server.talk(messages=roles)
    assert heard == [[("system", "developer"), *((role, role) for role in ("user", "assistant", "system"))]]


MANY_OPTIONS = dict.fromkeys(map(str, range(1000)), True)


@pytest.mark.parametrize(
    "fields",
    [
        {"stream_options": MANY_OPTIONS},
        {"prompt": [{}] * 1000},
        {"prompt": [["a"] * 1000] * 9},
        {"stop": [1] * 1000},
        {"messages": [{}] * 13},
        said(content=[{}] * 1000),
        said(**MANY_OPTIONS),
    ],
)
def test_a_request_with_many_errors_is_refused_at_the_first(fields):
    """A megabyte of errors would take a second, in which nobody else is answered."""
    kind, whole = (chat_request, TALK) if "messages" in fields else (completion_request, TEXT)
    with pytest.raises(ValidationError) as refused:
        kind(LIMITS).model_validate(whole | fields)
    assert refused.value.error_count() < 50


NESTED = b"[" + b",".join([b"[" * 90 + b"]" * 90] * 300) + b"]"


@pytest.mark.parametrize("body", [b'{"prompt": %s}', b'{"prompts": %s}', b"%s", b"%s]"])
def test_python_never_looks_through_all_lists_of_a_body(body):
    """It would take a tenth of a second for a megabyte of them, in which nobody else is answered."""
    young = []
    note = lambda phase, _: young.append(gc.get_count()[0] if phase == "start" else 0)  # noqa: E731
    gc.callbacks.append(note)
    try:
        with pytest.raises(InvalidRequest):
            valid_completion(body % NESTED, LIMITS)
        assert len([[] for _ in range(10_000)]) == 10_000, "after which Python looks through new ones"
    finally:
        gc.callbacks.remove(note)
    assert 0 < max(young) < 20_000


@pytest.mark.parametrize("name", ["whale", "melville/whale"])
async def test_a_model_has_a_path_of_its_own(name):
    """See https://platform.openai.com/docs/api-reference/models/retrieve; MAX's path is the name after the slash."""
    server, paths = Server(limits=replace(LIMITS, name=name)), []

    async def model(scope, receive, send):
        paths.append(scope["path"])
        await server.model(scope, receive, send)

    server.service.app = model
    for path in (f"/v1/models/{name}", f"/v1/models/{name.replace('/', '%2F')}"):
        assert (await server.client.get(path)).status_code == 200
    assert paths == ["/v1/models/whale"] * 2
    assert (await server.client.get(f"/v1/models/{name}s")).status_code == 404


async def test_a_server_that_turns_long_texts_into_tokens_one_by_one_answers_others_meanwhile():
    begun, goes_on = list[str](), threading.Event()

    def slowly(text):
        begun.append(text)
        return [int(goes_on.wait(5))]

    server = Server(limits=replace(LIMITS, encode=slowly))
    asked = [asyncio.create_task(server.ask()) for _ in range(2)]
    await until(lambda: begun)
    assert await server.statuses("/health", "/ready", "/v1/models/whale") == [200] * 3
    await asyncio.sleep(0.1)
    assert len(begun) == 1
    goes_on.set()
    assert [answer.json()["prompt"] for answer in await asyncio.gather(*asked)] == [[[1]]] * 2


async def test_a_request_with_a_key_of_the_file_as_it_is_now_gets_an_id_and_a_record(file, records):
    server = Server(keys=Keys(file))
    padded = json.dumps(TEXT).encode().ljust(LARGEST_BODY)
    for key in (KEY.encode(), OTHER.encode()):
        sent = {"authorization": b"bearer  " + key, "x-request-id": "req-1.2_3:4=5+6/7"}
        answer = await server.client.post(COMPLETE, content=padded, headers=sent)
        assert (answer.status_code, answer.json()) == (200, SEEN)
        assert answer.headers.get_list("x-request-id") == ["req-1.2_3:4=5+6/7"]
    expected = {"status": 200, "complete": True, "texts": 1, "generated_tokens": 7}
    assert vars(records()[-1]).items() >= expected.items()
    for sent in ("", "x" * 129, "a b", "é".encode()):
        answer = await server.client.get("/v1/models", headers=WITH_KEY | {"x-request-id": sent})
        assert len(answer.headers["x-request-id"]) == 32
    for content, status in (("another\n", 401), (f"{KEY}\n", 200), ("# none\n", 401), (None, 401)):
        file.write_text(content) if content else file.unlink()
        answer = await server.client.get("/v1/models", headers=WITH_KEY)
        assert answer.status_code == status
    assert (records()[-1].id, records()[-1].status) == (answer.headers["x-request-id"], 401)


def test_other_machines_need_a_key_unless_it_is_waived(file, tmp_path):
    for host, path, no_key in (("127.0.0.1", None, False), ("0.0.0.0", None, True), ("0.0.0.0", file, False)):
        assert (keys_of(ServerOptions("", host=host, api_key=path, no_key=no_key)) is None) == (path is None)
    (tmp_path / "empty").touch()
    (tmp_path / "wide").write_text(KEY, encoding="utf-16")
    (tmp_path / "marked").write_text(f"{KEY}\n", encoding="utf-8-sig")
    assert Keys(tmp_path / "marked").read() == [KEY.encode()], "a byte order mark is no part of a key"
    for host, path, no_key, sentence in (
        ("0.0.0.0", None, False, "give --api-key FILE, a file with one key per line, or say --no-key"),
        ("127.0.0.1", file, True, "exclude each other"), ("127.0.0.1", tmp_path / "empty", False, "has no key"),
        ("127.0.0.1", tmp_path / "wide", False, "is in UTF-16, as PowerShell writes it; save it as UTF-8"),
        ("127.0.0.1", tmp_path / "a-key-by-mistake", False, "cannot be read"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=sentence) as refusal:
            Keys.read(keys_of(ServerOptions("", host=host, api_key=path, no_key=no_key)))
        assert "mistake" not in str(refusal.value)


async def test_a_request_for_more_texts_than_there_are_places_is_not_told_to_come_again(records):
    refused = await Server(batch=1, queue=1).ask(n=3)
    assert (refused.status_code, "retry-after" in refused.headers) == (400, False)
    assert message(refused) == "this request asks for 3 texts, and this server takes 2 at once; split the request"


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
    assert (records()[-1].error, server.service.places_taken, server.service.runs) == (500, 0, {})


@pytest.mark.parametrize("why", [None, MODEL_ENDED])
async def test_a_request_that_is_ended_is_told_by_a_status_or_in_its_stream(why, records):
    status, sentence = (503, why) if why else (504, "the request took longer than 0.05 s")
    server, labels = Server(batch=4, seconds=60.0 if why else 0.05), {"path": COMPLETE, "status": str(status)}
    server.go.clear()
    before = REGISTRY.get_sample_value("gpt2_requests_total", labels) or 0
    tasks = [await server.start(), await server.start(stream=True)]
    if why:
        server.service.end_all(why)
        server.service.end_all("said twice")
    text, stream = await asyncio.wait_for(asyncio.gather(*tasks), 30)
    assert (text.status_code, text.headers.get("retry-after")) == (status, "5" if why else None)
    assert message(text).startswith(sentence)
    first, last, rest = stream.text.split("\n\n")
    assert (stream.status_code, first, rest) == (200, "data: one", "")
    assert json.loads(last.removeprefix("data: "))["error"]["message"].startswith(sentence)
    assert [(record.error, record.ended) for record in records()] == [(status, message(text))] * 2
    assert REGISTRY.get_sample_value("gpt2_requests_total", labels) == before + 2, (
        "the stream counts as what it ended by"
    )
    assert (server.service.places_taken, server.service.runs) == (0, {})


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_is_a_499_with_its_tokens(stream, records):
    """As nginx counts it; MAX ends the answer of a client that has left as if it were complete."""
    server, body = Server(), json.dumps(TEXT | {"stream": stream}).encode()
    received = iter([{"type": "http.request", "body": body}, {"type": "http.disconnect"}])

    async def model(scope, receive, send):
        await receive()
        CURRENT.get().generated_tokens += 3
        start = {"type": "http.response.start", "status": 200 if stream else 499, "headers": []}
        if stream:
            await send(start)
        assert (await receive())["type"] == "http.disconnect"
        if not stream:
            await send(start)
        await send({"type": "http.response.body", "body": b""})

    async def receive():
        return next(received)

    async def send(message):
        pass

    server.service.app = model
    await server.app({"type": "http", "method": "POST", "path": COMPLETE, "headers": []}, receive, send)
    expected = {"status": 499, "error": 499, "complete": False, "generated_tokens": 3}
    assert vars(records()[-1]).items() >= expected.items()


@pytest.mark.parametrize("pieces", [[], [b"data: one\n\n"], [b"data: one\n\n", b"data: [DONE]\r\n\r\n"]])
async def test_a_client_that_leaves_early_is_told_apart_from_one_that_has_everything(pieces, records):
    """OpenAI's client hangs up on the last event; nginx counts who hangs up before it as 499."""
    server = Server()

    async def streams(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})

    server.service.app = streams
    with contextlib.suppress(AssertionError):  # the transport wants an end of the answer
        await server.ask()
    assert (records()[-1].complete, records()[-1].status) == ((True, 200) if len(pieces) == 2 else (False, 499))
    line = f'gpt2_requests_total{{path="/v1/completions",status="{200 if len(pieces) == 2 else 499}"}}'
    assert line in (await server.client.get("/metrics")).text


async def test_alive_and_able_are_two_things_and_a_drain_ends_what_has_not_finished_in_time(records):
    server = Server(batch=8)
    assert await server.statuses("/health", "/ready") == [200, 200]
    server.service.app, server.service.reason = None, "it has ended"
    assert await server.statuses("/health", "/ready") == [200, 503]
    assert records() == [], "probes fill no log"
    refused = await server.ask()
    assert (refused.status_code, refused.headers["retry-after"], message(refused)) == (503, "5", "it has ended")
    server.service.app = server.model
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


@pytest.mark.parametrize(("how", "status"), [("ended", 1), ("idle", 0), ("running", 128 + signal.SIGINT)])
async def test_a_server_ends_with_its_model_or_by_a_signal_and_at_once_by_a_second_one(how, status):
    server, said = Server(), []
    server.go.clear()
    server.service.app = None

    @contextlib.asynccontextmanager
    async def model():
        if how == "ended":
            raise ModelEnded("killed")
        yield server.model

    with socket.create_server(("127.0.0.1", 0)) as taken:
        keeping = server.service.keep(model, False, said.append, "ready")
        living = asyncio.create_task(live(server.service, keeping, server.app, taken, 60, said.append))
        if how != "ended":
            await until(lambda: said == ["ready"])
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{taken.getsockname()[1]}") as client:
                asked = asyncio.create_task(client.post(COMPLETE, json=TEXT))
                await until(lambda: server.asked)
                server.go.set() if how == "idle" else None
                os.kill(os.getpid(), signal.SIGHUP if how == "idle" else signal.SIGTERM)
                await until(lambda: server.service.draining)
                os.kill(os.getpid(), signal.SIGINT) if how == "running" else None
                answer = await asked
                assert (answer.status_code, how) in ((200, "idle"), (503, "running"))
        assert await asyncio.wait_for(living, 30) == status
    assert said[:1] == ([] if how == "ended" else ["ready"])


async def test_a_model_that_never_was_ready_is_not_started_again():
    ends = iter([ModelEnded("while it started"), AssertionError("it was started again")])

    @contextlib.asynccontextmanager
    async def model():
        raise next(ends)
        yield

    with pytest.raises(ModelEnded, match="while it started"):
        await Service(1, 1, 60).keep(model, True, print, "ready")


async def test_a_model_that_keeps_ending_is_started_again_after_longer_pauses_and_then_no_more(monkeypatch):
    monkeypatch.setattr(service, "PAUSES", (0.0, 0.01))
    monkeypatch.setattr(service, "QUICK_SECONDS", 0.5)
    said, lives = [], iter([0.0, 0.0, 0.6, 0.0, 0.0, 0.0])

    @contextlib.asynccontextmanager
    async def model():
        try:
            async with asyncio.timeout(next(lives)):
                yield Server().model
        except TimeoutError:
            raise ModelEnded("killed") from None

    with pytest.raises(ModelEnded, match="killed"):
        await Service(1, 1, 60).keep(model, True, said.append, "ready")
    again = "the process that runs the model ended (killed); it is started again"
    restarts = [line.removeprefix(again) for line in said if line.startswith(again)]
    assert restarts == ["", " in 0.01 s", "", "", " in 0.01 s"]
    assert said[-2:] == ["ready", "it ended 3 times in a row within 0.5 s of being ready"]


@contextlib.asynccontextmanager
async def listening(server):
    """Open connections to a server on a port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        living = asyncio.create_task(live(server.service, asyncio.sleep(60), server.app, taken, 0, [].append))
        yield lambda: asyncio.open_connection(*taken.getsockname())
        os.kill(os.getpid(), signal.SIGTERM)
        assert await asyncio.wait_for(living, 30) == 0


GET, MANY = b"GET /health HTTP/1.1\r\nhost: here\r\n", b"one: of many\r\n" * 2000


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ([b""], b""),
        ([GET], b""),
        ([GET + b"large: " + b"x" * 10_000, b"x" * 10_000], b"400"),
        ([GET + MANY], b"400"),
        ([GET + MANY + b"\r\n"], b"400"),
        ([GET + b"content-length: 9\r\n\r\n", b"body", b"b"], b"200"),  # the body is never read, and never ends
    ],
)
async def test_a_connection_is_closed_if_no_request_comes_of_it_in_time(sent, status, monkeypatch):
    """As nginx closes it after ``client_header_timeout``: https://nginx.org/en/docs/http/ngx_http_core_module.html."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.1)
    async with listening(Server()) as connect:
        reader, writer = await connect()
        for piece in sent:
            writer.write(piece)
            await asyncio.sleep(0.02)
        answer = await asyncio.wait_for(reader.read(), 10)  # up to its end
        assert answer[9:12] == status
        writer.close()


async def test_a_flood_of_chunks_leaves_others_their_turn():
    """Of many connections at once: the longest turn is counted in CPU time, whatever else the machine does.

    No turn is one of the garbage collector, which looks through all that other tests have left in this process.
    """
    chunks = b"transfer-encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * 5_000 + b"0\r\n\r\n"

    async def flood(connect):
        reader, writer = await connect()
        writer.write(GET.replace(b"GET /health", f"POST {COMPLETE}".encode()) + chunks)
        answer = await reader.readline()
        writer.close()
        return answer

    gc.collect()
    gc.disable()
    try:
        async with listening(Server()) as connect:
            flooding, turns = asyncio.gather(*(flood(connect) for _ in range(30))), [time.thread_time()]
            while not flooding.done():
                await asyncio.sleep(0)
                turns.append(time.thread_time())
    finally:
        gc.enable()
    assert all(b"400" in answer for answer in flooding.result())  # the body is none
    assert max(np.diff(turns)) < (turns[-1] - turns[0]) / 20


async def test_a_connection_is_kept_while_it_is_answered_and_between_two_requests(monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.1)
    server, ask = Server(), GET.replace(b"/health", b"/version") + b"\r\n"
    async with listening(server) as connect:
        reader, writer = await connect()
        for _ in range(2):
            server.go.clear()
            writer.write(ask[:20])
            await asyncio.sleep(0.02)
            writer.write(ask[20:])
            await asyncio.sleep(0.3)
            server.go.set()
            assert b"200 OK" in await asyncio.wait_for(reader.readuntil(b"{}\r\n0\r\n\r\n"), 10)
            await asyncio.sleep(0.3)
        writer.close()
