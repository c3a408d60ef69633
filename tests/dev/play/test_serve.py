"""The real server, asked by the real client, on a port of this machine that nobody else can reach.

What stands in front of the model is tested without a model in ``serving/``; here is what needs one.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psutil
import pytest

from checker.course.paths import ROOT, SMALL_MODEL
from cli import finished
from play.serving import environment
from play.serving.environment import WAITING_MB
from play.serving.front.admission import LARGEST_BODY
from play.serving.validation import LONGEST_STOP, MOST_STOP_TOKENS, MOST_STOPS

openai = pytest.importorskip("openai")

pytestmark = pytest.mark.slow

START_SECONDS = 900  # MAX compiles the model and its sampler where it has not before
END_SECONDS = 20  # a text of 250 tokens, beside other tests, and the end of the process that runs the model
MODEL, KEY = "moby-dick", "a-key-of-nobody-else"
CONFIG = json.loads((SMALL_MODEL / "config.json").read_text())
QUEUE = next(option.default for option in finished.serve.params if option.name == "queue")
CONTEXT, VOCABULARY = CONFIG["n_positions"], CONFIG["vocab_size"]
LONG = "It was a clear steel-blue day. The firmaments of air and sea were hardly separable in that azure. " * 4
PROMPTS = [
    f"{who} {what}" for who in ("The whale", "Captain Ahab", "Queequeg", "A", "Call", "No man", "In the sea", "Now")
    for what in ("", " said", " was", ", and then the")
]  # fmt: skip


class Server:
    """``./run serve`` in a process of its own; ready when this is made."""

    def __init__(self, *arguments, root=ROOT, key="none"):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port, self.key = free.getsockname()[1], key
        command = [sys.executable, "-m", "cli", "serve", "--port", str(self.port), *arguments]
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - a pipe that nobody reads would fill up
        self.process = subprocess.Popen(
            command,
            cwd=root,
            env=dict(os.environ),  # else a child gets what MAX sets behind the back of Python, where it is imported
            stdout=self.log,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.client = openai.OpenAI(base_url=f"http://127.0.0.1:{self.port}/v1", api_key=key, max_retries=0)
        limit = time.monotonic() + START_SECONDS
        while not self.answers():
            assert self.process.poll() is None, self.output()
            assert time.monotonic() < limit, "the server is not ready in time"
            time.sleep(0.2)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.group_lives():
            os.killpg(self.process.pid, signal.SIGKILL)
        self.client.close()
        self.output()

    def answers(self):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ready", timeout=5).status == 200
        except OSError:
            return False

    def output(self):
        """What it has said, once it has ended."""
        self.process.wait(timeout=60)
        if not self.log.closed:
            self.log.seek(0)
            self.said = self.log.read()
            self.log.close()
        return self.said

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            return answer.read().decode()

    def figures(self):
        """What ``/metrics`` says, by name and labels."""
        lines = [line.rpartition(" ") for line in self.get("/metrics").splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in lines}

    def complete(self, prompt, **options):
        options = {"max_tokens": 16, "temperature": 0} | options
        return self.client.completions.create(model=MODEL, prompt=prompt, **options)

    def text(self, prompt, **options):
        return self.complete(prompt, **options).choices[0].text

    def post(self, body, path="/v1/completions"):
        """Status and message of a request that no client would send."""
        headers = {"authorization": f"Bearer {self.key}"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, headers)
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(request, timeout=60)
        with refusal.value as answer:
            return answer.code, json.load(answer)["error"]["message"]

    def end(self, how=signal.SIGTERM):
        """Seconds until the process, and those that it started, have ended."""
        started = time.monotonic()
        os.kill(self.process.pid, how)
        self.process.wait(timeout=60)
        while self.group_lives():
            assert time.monotonic() - started < 60, "processes of the server are left"
            time.sleep(0.1)
        self.output()
        return time.monotonic() - started

    def group_lives(self):
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    file = tmp_path_factory.mktemp("secrets") / "keys"
    file.write_text(f"another\n{KEY}\n")
    server = Server("--api-key", str(file), "--log-json", key=KEY)
    yield server
    with ThreadPoolExecutor(1) as client:
        stream = iter(server.complete("Call me", max_tokens=250, stream=True))
        assert next(stream).choices[0].text
        rest = client.submit(lambda: [part.choices[0].finish_reason for part in stream])
        assert server.end() < END_SECONDS
        assert rest.result()[-1] == "length", "what runs is finished"
    assert server.process.returncode == 0
    lines = [json.loads(line) for line in server.output().splitlines()]
    assert [line for line in lines if line.get("level") != "info"] == []
    assert lines[-1].items() >= {"message": "request", "status": 200, "generated_tokens": 250, "complete": True}.items()
    assert KEY not in server.output()
    assert "Call me" not in server.output()


@pytest.fixture
def start():
    """Start a server; it ends with the test, however that ends."""
    with ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(Server(*arguments))


def test_the_text_is_that_of_generate(server):
    for prompt in ("Call me", "Captain Ahab", LONG):
        command = [sys.executable, "-m", "cli", "generate", prompt, "--temperature", "0", "--max-new-tokens", "40"]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=True)
        for _ in range(2):  # the second time, the pages of a long prompt are in the cache
            assert prompt + server.text(prompt, max_tokens=40) + "\n" == run.stdout


def test_a_stream_is_the_same_text_in_pieces(server):
    pieces = [part.choices[0].text for part in server.complete("Call me", stream=True)]
    assert len(pieces) > 2  # what is generated while the server is busy comes together
    assert "".join(pieces) == server.text("Call me")


def test_a_stop_ends_the_text(server):
    text = server.text("Call me", max_tokens=40)
    stop = text[10:14]
    choice = server.complete("Call me", max_tokens=40, stop=stop).choices[0]
    assert choice.finish_reason == "stop"
    assert text.startswith(choice.text)
    assert stop in choice.text
    assert len(choice.text) < len(text)


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
def test_a_seed_gives_the_same_text_again(server, seed):
    one, same, other = (server.text("Call me", temperature=1, seed=number) for number in (seed, seed, 7))
    assert one == same != other


def test_n_texts(server):
    choices = server.complete(["Call me", "The whale"], n=3, temperature=1).choices
    assert [choice.index for choice in choices] == list(range(6))
    assert len({choice.text for choice in choices}) == 6
    greedy = server.complete(["Call me", "The whale"], n=2).choices
    texts = [server.text("Call me")] * 2 + [server.text("The whale")] * 2
    assert [choice.text for choice in greedy] == texts


def test_token_ids_are_a_prompt_too(server):
    usage = server.complete([1, 2, 3]).usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (3, 16)


def test_the_context_can_be_filled_to_the_last_token(server):
    answer = server.complete([5] * (CONTEXT - 56), max_tokens=56)
    assert answer.usage.total_tokens == CONTEXT


def test_without_max_tokens_the_text_ends_with_the_context(server):
    answer = server.client.completions.create(model=MODEL, prompt=[5] * (CONTEXT - 16), temperature=0)
    assert answer.usage.total_tokens == CONTEXT


def test_the_model_is_listed(server):
    (model,) = server.client.models.list().data
    assert (model.id, model.max_model_len) == (MODEL, CONTEXT)


def test_32_clients_at_once_get_what_each_gets_alone(server):
    assert len(PROMPTS) == len(set(PROMPTS)) == 32
    alone = [server.text(prompt) for prompt in PROMPTS]
    with ThreadPoolExecutor(32) as clients:
        together = list(clients.map(server.text, PROMPTS))
    assert together == alone


def test_a_client_that_goes_away_leaves_room_for_the_others(server):
    for _ in range(40):
        with server.complete("Call me", max_tokens=200, stream=True) as stream:
            next(iter(stream))
    assert server.text("Call me")


@pytest.mark.parametrize(
    ("request_", "status", "said"),
    [
        ({"prompt": ""}, 400, 'prompt = "" must be a text, token ids, or a list of either, each of at least one token'),
        ({"prompt": [5] * CONTEXT}, 400, f"the prompt has {CONTEXT} tokens and 16 more are asked for"),
        ({"prompt": "whale " * (CONTEXT + 50)}, 400, f"the model's context has {CONTEXT}"),
        ({"prompt": [VOCABULARY]}, 400, f"token id {VOCABULARY} is not in the vocabulary of {VOCABULARY} tokens"),
        ({"model": "gpt-5"}, 404, 'model = "gpt-5" must be "moby-dick", which is served here'),
        ({"max_tokens": -1}, 400, f"max_tokens = -1 must be a whole number from 1 to {CONTEXT}"),
        ({"max_tokens": 10**9}, 400, "max_tokens = 1000000000 must be"),
        ({"temperature": -0.5}, 400, "temperature = -0.5 must be a number from 0 to 2"),
        ({"n": 3, "seed": 1}, 400, "send one request per seed"),
        ({"presence_penalty": 99}, 400, "presence_penalty = 99 must be 0 or left out; nothing else is offered here"),
        ({"stop": [""]}, 400, 'stop = [""] must be a text'),
    ],
)
def test_what_cannot_be_answered_is_said(server, request_, status, said):
    request_ = {"model": MODEL, "prompt": "Call me", "max_tokens": 16} | request_
    with pytest.raises(openai.APIStatusError) as refusal:
        server.client.completions.create(**request_)
    assert refusal.value.status_code == status
    assert said in refusal.value.message
    assert server.text("Call me")


@pytest.mark.parametrize(
    ("body", "path", "status", "said"),
    [
        (b"{", "/v1/completions", 400, "must be a JSON object"),
        (b"[]", "/v1/completions", 400, "must be a JSON object"),
        (b"\xff\xfe", "/v1/completions", 400, "Invalid JSON"),
        (b" " * (LARGEST_BODY + 1), "/v1/completions", 413, "larger than 1,048,576 bytes"),
        (b" " * (20 * LARGEST_BODY), "/v1/completions", 413, "larger than 1,048,576 bytes"),  # sent before one reads
        (b'{"prompt": ' + b"[" * 100_000, "/v1/completions", 400, "nests lists or objects too deeply"),
        (b"{}", "/v1/chat/completions", 404, "nothing is served at /v1/chat/completions"),
        (b"{}", "/reset_prefix_cache", 404, "nothing is served at /reset_prefix_cache"),
        (b"{}", "/v1/models", 405, "takes GET, not POST"),
    ],
)
def test_what_is_no_request_is_said(server, body, path, status, said):
    code, message = server.post(body, path)
    assert code == status
    assert said in message
    assert server.text("Call me")


@pytest.mark.parametrize(
    "fields",
    [
        {"stop": [], "stream_options": {"include_usage": True}, "stream": True},
        {"ignore_eos": True, "stop": ["z" * 128] * 16, "stop_token_ids": [0] * 128, "min_tokens": 0},
        {"top_k": 1024, "top_p": 1.0, "user": "Ahab", "temperature": 2.0, "return_token_ids": True},
        {"prompt": ["Call me"] * 128, "max_tokens": 1},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_is_allowed_to_its_limits_is_answered(server, fields):
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}/v1/completions",
        json.dumps({"model": MODEL, "prompt": "Call me", "max_tokens": 16} | fields).encode(),
        {"authorization": f"Bearer {KEY}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.status == 200
        assert b'"error"' not in answer.read()


@pytest.mark.parametrize("narrow", [{"top_k": 1}, {"top_p": 1e-6}], ids=lambda fields: next(iter(fields)))
def test_each_way_to_choose_among_tokens_has_an_effect(server, narrow):
    greedy = server.text("Call me")
    assert server.text("Call me", temperature=2, seed=1) != greedy
    assert server.text("Call me", temperature=2, seed=1, extra_body=narrow) == greedy


def test_a_stop_token_ends_the_text(server):
    ids = server.complete("Call me", extra_body={"return_token_ids": True}).choices[0].token_ids
    choice = server.complete("Call me", extra_body={"stop_token_ids": [ids[5]]}).choices[0]
    assert choice.finish_reason == "stop"
    assert server.text("Call me").startswith(choice.text)
    assert len(choice.text) < len(server.text("Call me"))


def test_without_the_key_nobody_is_answered(server):
    with pytest.raises(openai.AuthenticationError, match="the key is missing or is not one of this server's"):
        server.client.with_options(api_key="a-key-of-somebody-else").models.list()
    assert server.client.with_options(api_key="another").models.list().data


def test_an_id_comes_back(server):
    raw = server.client.completions.with_raw_response
    answer = raw.create(model=MODEL, prompt="Call me", max_tokens=1, extra_headers={"x-request-id": "my-own"})
    assert answer.headers["x-request-id"] == "my-own"


def test_when_all_places_are_taken_the_next_is_told_to_come_again(server):
    with ThreadPoolExecutor(6) as clients:
        asked = [clients.submit(server.complete, "Call me", n=96, max_tokens=20) for _ in range(6)]
    refusals = [one.exception() for one in asked if one.exception()]
    assert len(refusals) == 3  # 32 texts run and 256 wait
    for refusal in refusals:
        assert isinstance(refusal, openai.RateLimitError)
        assert refusal.response.headers["retry-after"] == "1"
        assert "no more are taken" in refusal.message


def test_the_figures_are_those_of_the_requests(server):
    before = server.figures()
    server.complete(["Call me", "The whale, and"], max_tokens=20)
    list(server.complete("Call me", max_tokens=20, stream=True))
    with pytest.raises(openai.NotFoundError):
        server.client.completions.create(model="gpt-5", prompt="Call me")
    answered, grown = 'gpt2_requests_total{path="/v1/completions",status="%d"}', {}
    while grown.get(answered % 200, 0) < 2:  # a client has the end of its stream before the server has counted it
        after = server.figures()
        grown = {name: value - before.get(name, 0) for name, value in after.items()}
    assert (grown[answered % 200], grown[answered % 404]) == (2, 1)
    assert grown["gpt2_generated_tokens_total"] == 60
    assert grown["gpt2_prompt_tokens_total"] == sum(
        server.complete(prompt, max_tokens=1).usage.prompt_tokens for prompt in ("Call me", "The whale, and", "Call me")
    )
    assert grown["gpt2_time_to_first_token_seconds_count"] == grown["gpt2_time_per_token_seconds_count"] == 3
    assert 0 < grown["gpt2_time_to_first_token_seconds_sum"] < 60
    assert grown["gpt2_batch_size_sum"] == 60  # each pass gives a token for each text of its batch
    assert 40 <= grown["gpt2_batch_size_count"] <= 60
    assert (after["gpt2_ready"], after["gpt2_texts_running"], after["gpt2_texts_waiting"]) == (1, 0, 0)
    assert (after["gpt2_cache_pages"], after["gpt2_cache_pages_used"]) == (32 * CONTEXT // 128, 0)


@pytest.mark.nightly
def test_a_full_queue_fits_into_memory(start):
    waiting = QUEUE
    server = start("--batch", "1", "--queue", str(waiting + 95))
    made = psutil.Process(server.process.pid)

    def memory():  # MB
        return sum(one.memory_info().rss for one in [made, *made.children(recursive=True)]) / 1e6

    def send(**fields):
        """Send a request whose body is as long as it may be, and do not read its answer."""
        body = json.dumps({"model": MODEL, "temperature": 0} | fields).encode()
        asking = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        head = f"POST /v1/completions HTTP/1.1\r\nhost: here\r\ncontent-length: {LARGEST_BODY}\r\n\r\n"
        asking.sendall(head.encode() + body + b" " * (LARGEST_BODY - len(body)))
        return asking

    largest = {"prompt": [5] * (CONTEXT - 16), "max_tokens": 16}
    largest |= {"stop": ["\N{WHALE}" * LONGEST_STOP] * MOST_STOPS, "stop_token_ids": [7] * MOST_STOP_TOKENS}
    with ExitStack() as stack:
        for _ in range(8):  # what is there once, however many come
            assert send(**largest).recv(1 << 16).startswith(b"HTTP/1.1 200")
        send(prompt="Call me", n=96, max_tokens=CONTEXT - 8)  # nothing else runs meanwhile
        before = memory()
        for _ in range(waiting):
            send(**largest)
        limit = time.monotonic() + 60
        while server.figures()["gpt2_texts_waiting"] < waiting:
            assert time.monotonic() < limit, "they do not come to wait"
            time.sleep(0.1)
        assert memory() - before < WAITING_MB * waiting
        server.end(signal.SIGKILL)


@pytest.mark.nightly
def test_with_the_kernels_every_text_is_the_same(server, start):
    wanted = [server.text(prompt) for prompt in PROMPTS]
    kernels = start("--kernels")
    assert [kernels.text(prompt) for prompt in PROMPTS[:4]] == wanted[:4]  # one row for each new token
    with ThreadPoolExecutor(32) as clients:
        assert list(clients.map(kernels.text, PROMPTS)) == wanted  # up to 32 rows


@pytest.mark.nightly
def test_rounded_matrices_write_what_they_write_without_a_server(start):
    rounded = start("--quantize", "q4_0")
    texts = [rounded.text(prompt) for prompt in PROMPTS[:4]]
    rounded.end()
    from checker.max_adapter.runtime import prepare  # only now: with MAX here, other processes are another Python's
    from play.engine import Settings, Writer

    prepare()
    writer, settings = Writer(quantize="Q4_0"), Settings(max_new_tokens=16, temperature=0)
    assert ["".join(writer.write(prompt, settings)) for prompt in PROMPTS[:4]] == texts


def test_a_killed_server_and_the_next(start):
    server = start()
    stream = iter(server.complete("Call me", max_tokens=250, stream=True))
    next(stream)
    server.end(signal.SIGKILL)
    with pytest.raises(openai.APIConnectionError):
        list(stream)
    with pytest.raises(openai.APIConnectionError):
        server.complete("Call me")
    server = start()
    assert server.text("Call me")
    requests_are_told_when_its_worker_is_killed(server)
    assert "the reason is above" in server.output()
    assert server.process.returncode == 1


def requests_are_told_when_its_worker_is_killed(server):
    with ThreadPoolExecutor(1) as client:
        stream = iter(server.complete("Call me", max_tokens=250, stream=True))
        next(stream)
        text = client.submit(server.complete, "The whale", max_tokens=250)
        while server.figures()["gpt2_texts_running"] < 2:
            time.sleep(0.01)
        worker_of(server).kill()
        with pytest.raises(openai.APIError, match="the process that runs the model ended while it ran this request"):
            list(stream)
        with pytest.raises(openai.InternalServerError) as refusal:
            text.result()
        assert (refusal.value.status_code, refusal.value.response.headers["retry-after"]) == (503, "5")


def worker_of(server):
    children = psutil.Process(server.process.pid).children()
    (worker,) = [child for child in children if "spawn_main" in " ".join(child.cmdline())]
    return worker


@pytest.mark.nightly
def test_with_restart_the_model_comes_again(start):
    server = start("--restart")
    text = server.text("Call me")
    requests_are_told_when_its_worker_is_killed(server)
    assert server.get("/health")
    with pytest.raises(openai.InternalServerError, match="is started again"):
        server.complete("Call me")
    while not server.answers():
        time.sleep(0.1)
    assert server.text("Call me") == text
    assert server.figures()["gpt2_model_restarts_total"] == 1
    server.end(signal.SIGINT)
    assert server.process.returncode == 0
    assert "it is started again" in server.output()


@pytest.mark.nightly
def test_two_signals_end_a_server_that_is_busy(start):
    server = start("--grace", "600")
    stream = iter(server.complete("Call me", max_tokens=250, stream=True))
    next(stream)
    with ThreadPoolExecutor(2) as clients:
        asked = [clients.submit(server.complete, "Call me", n=96, max_tokens=200) for _ in range(2)]
        while server.figures()["gpt2_texts_waiting"] < 100:
            time.sleep(0.01)
        server.process.send_signal(signal.SIGTERM)
        while server.answers():
            time.sleep(0.01)
        assert server.end() < END_SECONDS
        assert {type(one.exception()) for one in asked} == {openai.InternalServerError}
    assert server.process.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--batch", "0"), "--batch 0 allows no request to run"),
        (("--host", "0.0.0.0"), "give --api-key FILE, a file with one key per line, or say --no-key"),
        (("--port", "70000"), "choose another --port"),
        (("--host", "203.0.113.1", "--no-key"), "203.0.113.1:8000 cannot be served at"),
        (("--model", "no/such-model"), "no/such-model is not a folder here, and could not be downloaded"),
        (("--model", "tests"), "tests has no readable config.json"),
        (("--mine",), "not written yet: s01"),
        (("--kernels", "--device", "gpu"), "the kernels run on the CPU; leave --device gpu away"),
        (("--kernels", "--quantize", "q4_0"), "leave --device gpu and --kernels away"),
        (("--mine", "--quantize", "q4_0"), ", s22. Write them"),
    ],
)
def test_what_cannot_be_served_is_said(arguments, said, course):
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "cli", "serve", *arguments]
    run = subprocess.run(command, cwd=course.root, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 2
    assert said in run.stderr
    assert "Traceback" not in run.stderr


def test_a_taken_port_is_said(server):
    command = [sys.executable, "-m", "cli", "serve", "--port", str(server.port)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 2
    assert f"127.0.0.1:{server.port} cannot be served at" in run.stderr


def test_another_version_of_max_is_named(monkeypatch):
    monkeypatch.setattr(environment.importlib.metadata, "version", lambda name: "26.8.0")
    with pytest.raises(environment.CannotServe, match=r"written for MAX 26\.7\.0, and 26\.8\.0 is installed"):
        environment.check_version()


def test_mine_is_what_is_served(course):
    for number in range(1, 16):
        course.write(f"{number:02}")
    course.write("15", edits={"        transformer = self.transformer\n": "        raise ValueError('this is mine')\n"})
    command = [sys.executable, "-m", "cli", "serve", "--mine", "--port", "0"]
    run = subprocess.run(command, cwd=course.root, capture_output=True, text=True, timeout=300)
    assert run.returncode == 1
    assert "ValueError: this is mine" in run.stderr + run.stdout
    assert "`./run s15` checks the model" in run.stderr
