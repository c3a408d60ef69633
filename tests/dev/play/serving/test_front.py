"""What stands in front of the model: each request passes it in one order, and each gets an answer."""

import asyncio
import contextlib
import json
import os

import pytest

from play.serve import prepare_keys
from play.serving.environment import CannotServe, Options
from play.serving.front import keys as keys_module
from play.serving.front.admission import LARGEST_BODY, Places
from play.serving.front.keys import Keys, NoKeys, is_loopback
from play.serving.front.probes import STUCK_SECONDS
from play.serving.front.recording import CURRENT
from play.serving.front.running import Running
from play.serving.front.stack import Watching, stacked
from play.serving.front.standing import Standing
from play.serving.front.validating import Validation
from play.serving.life import MODEL_ENDED
from tests.dev.play.serving.asgi import LIMITS, TEXT, Answer, Model, ask, until

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


class Server:
    """The whole front, before a model that can be asked."""

    def __init__(self, *, batch=2, queue=1, seconds=60.0, keys=None):
        self.model, self.standing, self.places = Model(), Standing(), Places(batch, queue)
        self.standing.open(self.model)
        self.running = Running(self.standing, seconds)
        self.records, self.batches = [], 0
        watching = Watching((self.records.append,), lambda: self.batches, lambda: (b"figures", "text/plain"))
        self.app = stacked(self.running, self.standing, self.places, LIMITS, keys, watching)

    def start(self, body=TEXT, **how):
        """Ask; return the task, and the answer, which fills while the task runs."""
        answer = Answer()
        return asyncio.create_task(ask(self.app, body, answer=answer, **how)), answer


# ---------------------------------------------------------------- what a request may be


async def test_a_valid_request_gets_the_answer_of_the_model():
    server = Server()
    answer = await ask(server.app, TEXT | {"max_tokens": 3})
    assert (answer.status, answer.complete) == (200, True)
    assert json.loads(answer.body) == TEXT | {"max_tokens": 3}
    assert server.places.taken == 0


@pytest.mark.parametrize(
    ("path", "method", "status", "said"),
    [
        ("/v1/chat/completions", "POST", 404, "nothing is served at /v1/chat/completions; the paths are /v1/compl"),
        ("/reset_prefix_cache", "POST", 404, "nothing is served at /reset_prefix_cache"),
        ("/v1/completions/", "POST", 404, "/v1/completions, /v1/models, /version, /health, /ready, /metrics"),
        ("/" + "x" * 70_000, "GET", 404, "nothing is served at /xxx"),
        ("/v1/models", "POST", 405, "/v1/models takes GET, not POST"),
        ("/v1/completions", "GET", 405, "/v1/completions takes POST, not GET"),
        ("/ready", "POST", 405, "/ready takes GET, not POST"),
    ],
)
async def test_what_is_not_served_is_said(path, method, status, said):
    answer = await ask(Server().app, b"{}", path=path, method=method)
    assert answer.status == status
    assert said in answer.message
    assert len(answer.body) < 1000
    assert ("allow" in answer.headers) == (status == 405)


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("beyond", [1, 20 * LARGEST_BODY])
async def test_a_body_that_is_too_large_is_read_to_its_end_and_refused(declared, beyond):
    server, size = Server(), LARGEST_BODY + beyond
    pieces = [b" " * (1 << 18)] * (size >> 18) + [b" " * (size % (1 << 18))]
    headers = {"content-length": str(size)} if declared else {}
    answer = await ask(server.app, b"", pieces=pieces, headers=headers)
    assert (answer.status, answer.message) == (413, "the body is larger than 1,048,576 bytes")
    assert "connection" not in answer.headers  # nothing is left on it
    assert server.model.asked == []


async def test_the_largest_body_is_taken():
    body = json.dumps(TEXT).encode()
    answer = await ask(Server().app, body + b" " * (LARGEST_BODY - len(body)))
    assert answer.status == 200


async def test_a_body_without_an_end_is_not_read_forever():
    app, reads = Server().app, 0

    async def counting(scope, receive, send):
        async def counted():
            nonlocal reads
            reads += 1
            return await receive()

        await app(scope, counted, send)

    answer = await ask(counting, b"", pieces=[b" " * LARGEST_BODY] * 200)
    assert (answer.status, answer.headers["connection"]) == (413, "close")
    assert reads < 100


async def test_a_client_that_waits_for_leave_to_send_too_much_gets_none():
    async def never():
        raise AssertionError("the body was asked for")

    body = never()
    headers = {"content-length": str(LARGEST_BODY + 1), "expect": "100-continue"}
    answer = await ask(Server().app, b"", pieces=[body], headers=headers)
    assert answer.status == 413
    body.close()


@pytest.mark.parametrize("length", ["", "x", "-5", "1e3", "9" * 5000, "5, 5"])
async def test_a_wrong_length_in_words_does_no_harm(length):
    assert (await ask(Server().app, headers={"content-length": length})).status in (200, 413)


async def test_a_body_that_does_not_come_is_not_waited_for():
    async def app(scope, receive, send):
        raise AssertionError("there is no request")

    async def slowly():
        await asyncio.sleep(5)

    CURRENT.set(None)
    answer = await ask(Validation(app, LIMITS, body_seconds=0.01), b"", pieces=[b'{"prompt"', slowly()])
    assert (answer.status, answer.headers["connection"]) == (408, "close")
    assert "did not come within 0.01 s" in answer.message


async def test_a_client_that_goes_away_in_the_middle_of_its_body_is_forgotten():
    server = Server()
    answer = await ask(server.app, b"", pieces=[b'{"prompt"', None])
    assert answer.status == 0
    assert [(record.status, record.outcome) for record in server.records] == [(0, 499)]
    assert server.model.asked == []


# ---------------------------------------------------------------- keys


SECRET, OTHER = "whale-3f9c", "ahab-é-77"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"# two of them\n{SECRET}\r\n\n  {OTHER}\t\n")
    return path


@pytest.mark.parametrize("key", [SECRET, OTHER])
@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER   "])
async def test_each_key_of_the_file_lets_in(file, key, scheme):
    keys = Keys(file, print)
    sent = (scheme + key).encode().decode("latin-1")

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    scope_headers = [(b"authorization", (scheme + key).encode())]
    answer = Answer()
    await keys_module.Guard(app, keys)({"type": "http", "headers": scope_headers}, None, answer.send)
    assert answer.status == 200, sent


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", f"Basic {SECRET}", SECRET, f"Bearer {SECRET}x", f"Bearer {SECRET[:-1]}", "Bearer # two of them",
     f"Bearer {SECRET} {OTHER}", f"Bearer {SECRET}, Bearer {SECRET}", f"Bearer \"{SECRET}\"", "Bearer " + "x" * 60_000],
)  # fmt: skip
async def test_nothing_else_does_and_the_answer_says_what_is_missing(file, header):
    server = Server(keys=Keys(file, print))
    answer = await ask(server.app, b"not read", headers={"authorization": header})
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "send it as the header `Authorization: Bearer KEY`" in answer.message
    assert SECRET not in str(answer)
    assert server.model.asked == []


@pytest.mark.parametrize(
    ("path", "method", "headers", "status"),
    [
        ("/v1/completions", "POST", {}, 401),
        ("/nowhere", "POST", {"authorization": f"Bearer {SECRET}"}, 404),
        ("/v1/models", "PUT", {"authorization": f"Bearer {SECRET}"}, 405),
    ],
)
async def test_a_client_that_sends_before_it_reads_has_its_body_taken_and_gets_its_answer(
    file, monkeypatch, path, method, headers, status
):
    taken, app = [], Server(keys=Keys(file, print)).app

    async def piece(number):
        taken.append(number)
        return b" " * LARGEST_BODY

    pieces = [piece(number) for number in range(3)]
    answer = await ask(app, b"", path=path, method=method, headers=headers, pieces=pieces)
    assert (answer.status, taken) == (status, [0, 1, 2])
    assert "connection" not in answer.headers
    monkeypatch.setattr("play.serving.front.answers.DISCARD_SECONDS", 0.01)
    answer = await ask(app, b"", path=path, method=method, headers=headers, pieces=[b"{", asyncio.sleep(5, b"}")])
    assert (answer.status, answer.headers["connection"]) == (status, "close")
    answer = await ask(app, b"", path=path, method=method, headers=headers, pieces=[b"{", None])
    assert answer.status == 0


async def nothing():
    return {"type": "http.request", "body": b""}


async def test_two_headers_with_a_key_are_one_too_many(file):
    guard = keys_module.Guard(Model(), Keys(file, print))
    answer, pair = Answer(), (b"authorization", f"Bearer {SECRET}".encode())
    await guard({"type": "http", "headers": [pair, pair]}, nothing, answer.send)
    assert answer.status == 401


async def test_a_stranger_learns_nothing_but_that(file):
    server = Server(keys=Keys(file, print))
    server.standing.drain()
    for path, body in (("/v1/completions", b"{"), ("/nowhere", b""), ("/v1/models", None)):
        assert (await ask(server.app, body, path=path)).status == 401
    for path in ("/health", "/ready", "/metrics"):
        assert (await ask(server.app, None, path=path)).status in (200, 503)


def test_a_changed_file_counts_from_the_next_request_on(file):
    told = []
    keys = Keys(file, told.append)
    assert keys.fits(SECRET.encode())
    file.write_text("another\n")
    assert not keys.fits(SECRET.encode())
    assert keys.fits(b"another")
    assert told == ["the file of keys has changed; 1 are known now"]


def test_a_file_that_is_put_in_the_place_of_another_counts_even_if_nothing_else_differs(file):
    keys, state = Keys(file, print), file.stat()
    new = file.with_name("new")
    new.write_text(file.read_text().replace(SECRET, SECRET[::-1]))
    os.utime(new, ns=(state.st_atime_ns, state.st_mtime_ns))
    new.replace(file)
    assert keys.fits(SECRET[::-1].encode())
    assert not keys.fits(SECRET.encode())


@pytest.mark.parametrize("spoil", ["unlink", "empty", "comments"])
def test_without_a_key_in_the_file_nobody_is_let_in_until_there_is_one(file, spoil):
    told = []
    keys, text = Keys(file, told.append), file.read_text()
    if spoil == "unlink":
        file.unlink()
    else:
        file.write_text("" if spoil == "empty" else "# none\n")
    assert not any(keys.fits(key.encode()) for key in (SECRET, OTHER, "", "# none"))
    assert len(told) == 1
    assert "Until then no request is taken" in told[0]
    file.write_text(text)
    assert keys.fits(SECRET.encode())
    assert SECRET not in str(told)


def test_a_key_in_the_place_of_the_file_is_not_repeated(tmp_path):
    for name in (SECRET, "x" * 5000, "a\0b"):
        with pytest.raises(NoKeys) as none:
            Keys(tmp_path / name, print)
        assert name not in str(none.value)
        assert "--api-key wants a file" in str(none.value)


def test_a_file_that_cannot_be_read_is_named_as_such(tmp_path):
    with pytest.raises(NoKeys, match="cannot be read"):
        Keys(tmp_path, print)  # a folder: root may read everything else


@pytest.mark.parametrize(
    ("host", "named", "no_key", "said"),
    [
        ("0.0.0.0", False, False, "--host 0.0.0.0 lets other machines ask; give --api-key FILE"),
        ("203.0.113.1", False, False, "or say --no-key if something in front of this server decides who may ask"),
        ("127.0.0.1", True, True, "--api-key and --no-key exclude each other"),
        ("127.0.0.1", "no-such-file", False, "--api-key wants a file with one key per line"),
    ],
)
def test_a_server_for_others_needs_keys_or_that_it_is_said(file, host, named, no_key, said):
    path = file if named is True else file.with_name(named) if named else None
    with pytest.raises(CannotServe) as cannot:
        prepare_keys(print, host, path, no_key)
    assert said in str(cannot.value)
    assert "no-such-file" not in str(cannot.value)


def test_a_server_that_may_be_asked_says_how(file):
    told = []
    assert prepare_keys(told.append, "127.0.0.1", None, False) is None
    assert prepare_keys(told.append, "0.0.0.0", None, True) is None
    assert told == []
    assert len(prepare_keys(told.append, "0.0.0.0", file, False)) == 2
    assert told == ["a request needs one of 2 keys"]


OPTIONS = {
    "model": "moby-dick",
    "host": "127.0.0.1",
    "port": 8000,
    "device": "cpu",
    "batch": 1,
    "queue": 0,
    "time_limit": 0.5,
    "grace": 0.0,
    "restart": False,
    "no_prefix_cache": False,
    "log_json": False,
    "verbose": False,
}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("batch", 0, "--batch 0 allows no request to run; give 1 or more"),
        ("queue", -1, "--queue -1 cannot be; give 0 or more"),
        ("time_limit", 0.0, "--time-limit 0 cannot be; give a number above 0, up to 86400 s"),
        ("time_limit", float("nan"), "--time-limit nan cannot be"),
        ("time_limit", float("inf"), "--time-limit inf cannot be"),
        ("grace", -0.5, "--grace -0.5 cannot be; give a number from 0 to 86400 s"),
        ("grace", float("nan"), "--grace nan cannot be"),
        ("grace", 1e300, "--grace 1e+300 cannot be"),
    ],
)
def test_an_option_that_makes_no_sense_is_named(name, value, said):
    assert Options(**OPTIONS).batch == 1
    with pytest.raises(CannotServe) as cannot:
        Options(**OPTIONS | {name: value})
    assert said in str(cannot.value)


def test_keys_are_compared_all_and_in_constant_time(file, monkeypatch):
    compared = []
    monkeypatch.setattr(keys_module.hmac, "compare_digest", lambda one, other: compared.append((one, other)) or True)
    keys = Keys(file, print)
    assert keys.fits(b"x")
    assert len(compared) == 2
    assert {len(one) for pair in compared for one in pair} == {32}


@pytest.mark.parametrize(
    ("host", "alone"),
    [("127.0.0.1", True), ("127.8.9.1", True), ("localhost", True), ("0.0.0.0", False), ("", False), ("10.0.0.1", False),
     ("::1", True), ("::", False), ("a..b", False), ("x" * 300, False), ("256.1.1.1", False)],
)  # fmt: skip
def test_which_host_only_this_machine_reaches(host, alone):
    assert is_loopback(host) == alone


# ---------------------------------------------------------------- how much is taken


async def test_so_many_run_so_many_wait_and_the_next_is_told_to_come_again():
    server = Server(batch=2, queue=1)
    server.model.go.clear()
    started = [server.start() for _ in range(3)]
    await until(lambda: len(server.model.asked) == 3)
    assert (server.places.running, server.places.waiting) == (2, 1)
    answer = await ask(server.app)
    assert (answer.status, answer.headers["retry-after"]) == (429, "1")
    assert answer.message == "2 texts run and 1 wait, and no more are taken; ask again"
    assert json.loads(answer.body)["error"]["type"] == "rate_limit_error"
    server.model.go.set()
    await asyncio.gather(*[task for task, _ in started])
    assert [answer.status for _, answer in started] == [200] * 3
    assert (await ask(server.app)).status == 200


async def test_a_request_for_several_texts_takes_as_many_places():
    server = Server(batch=2, queue=2)
    server.model.go.clear()
    task, _ = server.start(TEXT | {"n": 3})
    await until(lambda: server.places.taken == 3)
    assert (await ask(server.app, TEXT | {"prompt": ["a", "b"]})).status == 429
    other, _ = server.start(TEXT | {"prompt": [1, 2, 3]})  # one text of three tokens
    await until(lambda: server.places.taken == 4)
    server.model.go.set()
    await asyncio.gather(task, other)
    assert server.places.taken == 0


async def test_a_list_of_models_needs_no_place():
    server = Server(batch=1, queue=0)
    server.model.go.clear()
    task, _ = server.start()
    await until(lambda: server.places.taken == 1)
    listing, _ = server.start(None, path="/v1/models")
    await until(lambda: len(server.model.asked) == 2)
    server.model.go.set()
    await asyncio.gather(task, listing)


async def test_a_place_is_free_again_after_an_application_that_breaks():
    server = Server()

    async def broken(scope, receive, send):
        raise ValueError("this is a defect")

    server.standing.open(broken)
    with pytest.raises(ValueError, match="this is a defect"):
        await ask(server.app)
    assert (server.places.taken, len(server.running.runs)) == (0, 0)


async def test_an_invalid_request_takes_no_place():
    server = Server(batch=1, queue=0)
    server.model.go.clear()
    task, _ = server.start()
    await until(lambda: server.places.taken == 1)
    assert (await ask(server.app, TEXT | {"prompt": ""})).status == 400
    server.model.go.set()
    await task


# ---------------------------------------------------------------- an end for each


async def test_a_request_that_takes_too_long_is_told_so():
    server = Server(seconds=0.01)
    server.model.go.clear()
    answer = await ask(server.app)
    assert (answer.status, answer.complete) == (504, True)
    assert answer.message.startswith("the request took longer than 0.01 s")
    assert (server.records[0].ended, server.records[0].outcome) == (answer.message, 504)
    assert server.places.taken == 0


async def test_a_stream_that_takes_too_long_ends_with_an_error_event():
    server = Server(seconds=0.01)
    server.model.go.clear()
    answer = await ask(server.app, TEXT | {"stream": True})
    assert (answer.status, answer.complete) == (200, True)
    first, last, nothing = answer.body.decode().split("\n\n")
    assert (first, nothing) == ("data: one", "")
    error = json.loads(last.removeprefix("data: "))["error"]
    assert (error["code"], error["type"]) == ("504", "api_error")
    assert "took longer than 0.01 s" in error["message"]
    assert (server.records[0].status, server.records[0].outcome) == (200, 504)


async def test_a_stream_whose_client_leaves_is_not_complete_even_if_the_model_writes_to_the_end():
    server = Server()

    async def writes_on(scope, receive, send):
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b"data: one\n\n", "more_body": True})
        assert (await receive())["type"] == "http.disconnect"
        await send({"type": "http.response.body", "body": b""})  # which a server takes, and sends nowhere

    async def leaving(scope, receive, send):
        messages = [{"type": "http.disconnect"}, await receive()]
        await server.app(scope, lambda: asyncio.sleep(0, messages.pop()), send)

    server.standing.open(writes_on)
    await ask(leaving, TEXT | {"stream": True})
    (record,) = server.records
    assert (record.status, record.complete, record.outcome) == (200, False, 499)


@pytest.mark.parametrize("cancels", [False, True])
async def test_a_client_that_hangs_up_on_the_last_event_has_all_of_its_stream(cancels):
    """OpenAI's does. The application notices, and ends its answer or not."""
    server = Server()

    async def streams(scope, receive, send):
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b"data: one\n\n", "more_body": True})
        await send({"type": "http.response.body", "body": b"data: [DONE]\r\n\r\n", "more_body": True})
        assert (await receive())["type"] == "http.disconnect"
        if cancels:
            raise ConnectionError("nobody reads this")
        await send({"type": "http.response.body", "body": b""})

    async def hanging_up(scope, receive, send):
        messages = [{"type": "http.disconnect"}, await receive()]
        with contextlib.suppress(ConnectionError):
            await server.app(scope, lambda: asyncio.sleep(0, messages.pop()), send)

    server.standing.open(streams)
    await ask(hanging_up, TEXT | {"stream": True})
    (record,) = server.records
    assert (record.status, record.complete, record.outcome) == (200, True, 200)


async def test_when_the_model_ends_every_request_is_told():
    server = Server(batch=4)
    server.model.go.clear()
    started = [server.start(), server.start(TEXT | {"stream": True}), server.start(None, path="/v1/models")]
    await until(lambda: len(server.model.asked) == 3 and started[1][1].body)
    server.running.end_all(MODEL_ENDED, 5)
    server.running.end_all("said twice", 5)
    await asyncio.gather(*[task for task, _ in started])
    (_, text), (_, stream), (_, listing) = started
    for answer in (text, listing):
        assert (answer.status, answer.message, answer.headers["retry-after"]) == (503, MODEL_ENDED, "5")
    assert (stream.status, stream.complete) == (200, True)
    assert json.loads(stream.body.decode().split("data: ")[2])["error"]["message"] == MODEL_ENDED
    assert {record.ended for record in server.records} == {MODEL_ENDED}
    assert server.places.taken == 0


@pytest.mark.parametrize("makes_of_it", ["nothing", "another error", "an answer", "the last byte"])
async def test_whatever_the_application_makes_of_being_stopped_there_is_one_answer(makes_of_it):
    server = Server()

    async def stubborn(scope, receive, send):
        await receive()
        server.model.asked.append(1)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if makes_of_it == "another error":
                raise RuntimeError("no response was returned") from None
            if makes_of_it in ("an answer", "the last byte"):
                await send({"type": "http.response.start", "status": 500, "headers": []})
                await send({"type": "http.response.body", "body": b"", "more_body": makes_of_it == "an answer"})

    server.standing.open(stubborn)
    task, answer = server.start()
    await until(lambda: server.model.asked)
    server.running.end_all(MODEL_ENDED, 5)
    await task
    assert answer.status == (500 if makes_of_it in ("an answer", "the last byte") else 503)
    assert answer.complete == (makes_of_it != "an answer")  # half of an answer is cut off by the server
    assert (server.places.taken, len(server.running.runs)) == (0, 0)


async def test_an_answer_that_was_complete_is_left_alone():
    server = Server()

    async def tidy(scope, receive, send):
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})
        server.model.asked.append(1)
        await asyncio.Event().wait()

    server.standing.open(tidy)
    task, answer = server.start()
    await until(lambda: server.model.asked)
    server.running.end_all(MODEL_ENDED, 5)
    await task
    assert answer.body == b"data: [DONE]\n\n"
    assert server.records[0].ended == ""


async def test_a_client_that_is_cancelled_takes_its_request_with_it():
    server = Server()
    server.model.go.clear()
    task, _ = server.start()
    await until(lambda: server.places.taken == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (server.places.taken, len(server.running.runs)) == (0, 0)
    assert server.records[0].status == 0


async def test_the_last_answers_of_a_server_that_drains_end_their_connections():
    server = Server()
    server.model.go.clear()
    task, answer = server.start()
    await until(lambda: server.places.taken == 1)
    server.standing.drain()
    server.model.go.set()
    await task
    assert (answer.status, answer.headers["connection"]) == (200, "close")
    refused = await ask(server.app)
    assert (refused.status, refused.headers["connection"], refused.headers["retry-after"]) == (503, "close", "1")
    assert "send it to another one" in refused.message


# ---------------------------------------------------------------- ids and records


@pytest.mark.parametrize("given", ["a", "req-1.2_3:4=5+6/7", "x" * 128])
async def test_an_id_comes_back_and_that_of_the_model_is_kept(given):
    server = Server()
    answer = await ask(server.app, headers={"X-Request-Id": given})
    assert answer.headers["x-request-id"] == given
    assert (server.records[0].id, server.records[0].model_id) == (given, "of-the-model")


@pytest.mark.parametrize("given", [None, "", " ", "x" * 129, "a b", "a\nb", "a\r\nset-cookie: b", "é", "{}", "a,b"])
async def test_any_other_is_replaced(given):
    server = Server()
    headers = {} if given is None else {"x-request-id": given}
    one, two = [(await ask(server.app, headers=headers)).headers["x-request-id"] for _ in range(2)]
    assert len(one) == len(two) == 32
    assert one != two
    assert given is None or given not in (one, two)


async def test_refusals_have_an_id_and_a_record_too():
    server = Server()
    for body, path, status in ((b"{", "/v1/completions", 400), (b"", "/nowhere", 404)):
        answer = await ask(server.app, body, path=path, headers={"x-request-id": "mine"})
        assert (answer.status, answer.headers["x-request-id"]) == (status, "mine")
        assert (server.records[-1].status, server.records[-1].complete) == (status, True)


async def test_the_record_reaches_the_tasks_that_the_model_starts():
    server = Server()

    async def app(scope, receive, send):
        async def measure():
            CURRENT.get().generated_tokens += 7

        await asyncio.gather(measure(), measure())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    server.standing.open(app)
    await asyncio.gather(*[asyncio.create_task(ask(server.app)) for _ in range(2)])
    assert [record.generated_tokens for record in server.records] == [14, 14]
    assert all(0 <= record.seconds < 5 for record in server.records)


# ---------------------------------------------------------------- probes


async def test_alive_and_able_are_two_things():
    server = Server()
    health, ready = [await ask(server.app, None, path=path) for path in ("/health", "/ready")]
    assert (health.status, ready.status, json.loads(ready.body)) == (200, 200, {"status": "ready"})
    server.standing.close("it has ended")
    health, ready = [await ask(server.app, None, path=path) for path in ("/health", "/ready")]
    assert (health.status, ready.status) == (200, 503)
    assert json.loads(ready.body) == {"status": "not ready", "why": "it has ended"}
    assert ready.headers["retry-after"] == "5"
    refused = await ask(server.app)
    assert (refused.status, refused.message) == (503, "it has ended")
    server.standing.open(server.model)
    assert (await ask(server.app)).status == 200
    assert (await ask(server.app, None, path="/ready")).status == 200
    server.standing.drain()
    assert (await ask(server.app, None, path="/ready")).status == 503
    assert (await ask(server.app, None, path="/health")).status == 200


async def test_probes_leave_no_record_and_answer_head():
    server = Server()
    for path in ("/health", "/ready", "/metrics"):
        get, head = [await ask(server.app, None, path=path, method=method) for method in ("GET", "HEAD")]
        assert (head.status, head.headers, head.body) == (get.status, get.headers, b"")
    assert get.body == b"figures"
    assert server.records == []


async def test_a_model_that_has_stopped_is_not_ready_while_texts_wait(monkeypatch):
    server = Server()
    now = 0.0
    monkeypatch.setattr("play.serving.front.probes.time.monotonic", lambda: now)

    async def status():
        return (await ask(server.app, None, path="/ready")).status

    assert await status() == 200
    now += 2 * STUCK_SECONDS
    assert await status() == 200  # nobody asks for anything
    server.model.go.clear()
    task, _ = server.start()
    await until(lambda: server.places.taken == 1)
    now += STUCK_SECONDS - 1
    assert await status() == 200
    now += 2
    assert await status() == 503
    server.batches += 1
    assert await status() == 200
    server.model.go.set()
    await task


async def test_a_model_that_just_got_a_text_after_a_pause_without_probes_has_not_stopped(monkeypatch):
    server = Server()
    now = 0.0
    monkeypatch.setattr("play.serving.front.probes.time.monotonic", lambda: now)
    assert (await ask(server.app, None, path="/ready")).status == 200
    now += 2 * STUCK_SECONDS  # in which nobody asks for anything
    server.model.go.clear()
    task, _ = server.start()
    await until(lambda: server.places.taken == 1)
    now += 1
    assert (await ask(server.app, None, path="/ready")).status == 200
    now += STUCK_SECONDS
    ready = await ask(server.app, None, path="/ready")
    assert ready.status == 503
    assert "has run nothing for 301 s" in json.loads(ready.body)["why"]
    server.model.go.set()
    await task
