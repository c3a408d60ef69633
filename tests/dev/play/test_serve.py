"""The real server, asked by the real client, on a port of this machine that nobody else can reach."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from checker.course.paths import ROOT
from play.serving import environment
from play.serving.validation import LARGEST_BODY, InvalidRequest, ModelLimits, validated

openai = pytest.importorskip("openai")

pytestmark = pytest.mark.slow

START_SECONDS = 900  # MAX compiles the model and its sampler where it has not before
END_SECONDS = 10
MODEL = "moby-dick"
LONG = "It was a clear steel-blue day. The firmaments of air and sea were hardly separable in that azure. " * 4
PROMPTS = [
    f"{who} {what}" for who in ("The whale", "Captain Ahab", "Queequeg", "A", "Call", "No man", "In the sea", "Now")
    for what in ("", " said", " was", ", and then the")
]  # fmt: skip


class Server:
    """``./run serve`` in a process of its own; ready when this is made."""

    def __init__(self, *arguments, root=ROOT):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "checker", "serve", "--port", str(self.port), *arguments]
        self.process = subprocess.Popen(
            command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        self.client = openai.OpenAI(base_url=f"http://127.0.0.1:{self.port}/v1", api_key="none", max_retries=0)
        limit = time.monotonic() + START_SECONDS
        while not self.answers():
            assert self.process.poll() is None, self.output()
            assert time.monotonic() < limit, "the server is not ready in time"
            time.sleep(0.2)

    def answers(self):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5).status == 200
        except OSError:
            return False

    def output(self):
        return self.process.communicate(timeout=END_SECONDS)[0]

    def complete(self, prompt, **options):
        options = {"max_tokens": 16, "temperature": 0} | options
        return self.client.completions.create(model=MODEL, prompt=prompt, **options)

    def text(self, prompt, **options):
        return self.complete(prompt, **options).choices[0].text

    def post(self, body, path="/v1/completions"):
        """Status and message of a request that no client would send."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body)
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(request, timeout=60)
        with refusal.value as answer:
            return answer.code, json.load(answer)["error"]["message"]

    def end(self, how=signal.SIGTERM):
        """Seconds until the process, and those that it started, have ended."""
        started = time.monotonic()
        os.kill(self.process.pid, how)
        self.process.communicate(timeout=60)
        while self.group_lives():
            assert time.monotonic() - started < 60, "processes of the server are left"
            time.sleep(0.1)
        return time.monotonic() - started

    def group_lives(self):
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True


@pytest.fixture(scope="module")
def server():
    server = Server()
    yield server
    assert next(iter(server.complete("Call me", max_tokens=250, stream=True))).choices[0].text
    assert server.end() < END_SECONDS, "it ends, though somebody still reads"


def test_the_text_is_that_of_generate(server):
    for prompt in ("Call me", "Captain Ahab", LONG):
        command = [sys.executable, "-m", "checker", "generate", prompt, "--temperature", "0", "--max-new-tokens", "40"]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=True)
        for _ in range(2):  # the second time, the pages of a long prompt are in the cache
            assert prompt + server.text(prompt, max_tokens=40) + "\n" == run.stdout


def test_a_stream_is_the_same_text_in_pieces(server):
    pieces = [part.choices[0].text for part in server.complete("Call me", stream=True)]
    assert len(pieces) > 10
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
    answer = server.complete([5] * 200, max_tokens=56)
    assert answer.usage.total_tokens == 256


def test_without_max_tokens_the_text_ends_with_the_context(server):
    answer = server.client.completions.create(model=MODEL, prompt=[5] * 240, temperature=0)
    assert answer.usage.total_tokens == 256


def test_the_model_is_listed(server):
    (model,) = server.client.models.list().data
    assert (model.id, model.max_model_len) == (MODEL, 256)


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
        ({"prompt": [5] * 256}, 400, "the prompt has 256 tokens and 16 more are asked for"),
        ({"prompt": "whale " * 300}, 400, "the model's context has 256"),
        ({"prompt": [1024]}, 400, "token id 1024 is not in the vocabulary of 1024 tokens"),
        ({"model": "gpt-5"}, 404, 'model = "gpt-5" must be "moby-dick", which is served here'),
        ({"max_tokens": -1}, 400, "max_tokens = -1 must be a whole number from 1 to 256"),
        ({"max_tokens": 10**9}, 400, "max_tokens = 1000000000 must be"),
        ({"temperature": -0.5}, 400, "temperature = -0.5 must be a number from 0 to 2"),
        ({"n": 3, "seed": 1}, 400, "send one request per seed"),
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


@pytest.mark.nightly
def test_with_the_kernels_every_text_is_the_same(server):
    wanted = [server.text(prompt) for prompt in PROMPTS]
    kernels = Server("--kernels")
    try:
        assert [kernels.text(prompt) for prompt in PROMPTS[:4]] == wanted[:4]  # one row for each new token
        with ThreadPoolExecutor(32) as clients:
            assert list(clients.map(kernels.text, PROMPTS)) == wanted  # up to 32 rows
    finally:
        kernels.end()


def test_a_killed_server_and_the_next():
    server = Server()
    stream = iter(server.complete("Call me", max_tokens=250, stream=True))
    next(stream)
    server.end(signal.SIGKILL)
    with pytest.raises(openai.APIConnectionError):
        list(stream)
    with pytest.raises(openai.APIConnectionError):
        server.complete("Call me")
    server = Server()
    assert server.text("Call me")
    ends_when_its_worker_is_killed(server)


def ends_when_its_worker_is_killed(server):
    (worker,) = [
        child for child in psutil.Process(server.process.pid).children() if "spawn_main" in " ".join(child.cmdline())
    ]
    worker.kill()
    assert "the reason is above" in server.process.communicate(timeout=60)[0]
    assert server.process.returncode == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--batch", "0"), "--batch 0 allows no request to run"),
        (("--port", "70000"), "choose another --port"),
        (("--host", "203.0.113.1"), "203.0.113.1:8000 cannot be served at"),
        (("--model", "no/such-model"), "no/such-model is not a folder here, and could not be downloaded"),
        (("--model", "tests"), "tests has no readable config.json"),
        (("--mine",), "not written yet: s01"),
        (("--kernels", "--device", "gpu"), "the kernels run on the CPU; leave --device gpu away"),
    ],
)
def test_what_cannot_be_served_is_said(arguments, said, course):
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "checker", "serve", *arguments]
    run = subprocess.run(command, cwd=course.root, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 2
    assert said in run.stderr
    assert "Traceback" not in run.stderr


def test_a_taken_port_is_said(server):
    command = [sys.executable, "-m", "checker", "serve", "--port", str(server.port)]
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
    command = [sys.executable, "-m", "checker", "serve", "--mine", "--port", "0"]
    run = subprocess.run(command, cwd=course.root, capture_output=True, text=True, timeout=300)
    assert run.returncode == 1
    assert "ValueError: this is mine" in run.stderr + run.stdout
    assert "`./run s15` checks the model" in run.stderr


LIMITS = ModelLimits("whale", n_positions=13, vocab_size=37, encode=lambda text: [ord(letter) % 37 for letter in text])


def request(**fields):
    """Return what MAX gets to see of a request with these fields."""
    return validated(json.dumps({"model": "whale"} | fields).encode(), LIMITS)


def test_a_valid_request_stays_as_it_is():
    fields = {"model": "whale", "prompt": "Call", "max_tokens": 9, "temperature": 0.5, "stop": ["."], "stream": True}
    assert request(**fields) == fields
    assert request(prompt=["a", [1, 2]], seed=None, user="Ahab")["prompt"] == ["a", [1, 2]]
    assert request(prompt="a", echo=False, logprobs=None)["prompt"] == "a"


def test_n_and_seed_are_put_into_words_that_max_follows():
    assert request(prompt="a", n=3) == {"model": "whale", "prompt": ["a"] * 3}
    assert request(prompt=["a", "b"], n=2)["prompt"] == ["a", "a", "b", "b"]
    assert request(prompt=[1, 2], n=2)["prompt"] == [[1, 2], [1, 2]]
    assert request(prompt="a", seed=0)["seed"] > 0
    assert request(prompt="a", seed=5)["seed"] == 5
    assert request(prompt="a", n=1) == {"model": "whale", "prompt": "a"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "prompt = null must be a text, token ids, or a list of either"),
        ({"prompt": 5}, "prompt = 5 must be a text, token ids, or a list of either"),
        ({"prompt": []}, "prompt = [] must be a text, token ids, or a list of either, each of at least one token"),
        ({"prompt": ["a", ""]}, 'prompt = "" must be'),
        ({"prompt": [[]]}, "<|endoftext|> if you have no other"),
        ({"prompt": ["a", {}]}, "prompt = {} must be a text, token ids"),
        ({"prompt": [1, "a"]}, 'prompt = [1, "a"] must be a text, token ids'),
        ({"prompt": [True]}, "prompt = [true] must be a text, token ids"),
        ({"prompt": [[1], [1.0]]}, "prompt = [1.0] must be a text, token ids"),
        ({"prompt": ["a", 5] + [{}] * 100_000}, "prompt = 5 must be a text, token ids"),
        ({"prompt": [36, 37]}, "token id 37 is not in the vocabulary of 37 tokens"),
        ({"prompt": [-1]}, "token id -1 is not in the vocabulary"),
        ({"prompt": "a" * 13}, "the prompt has 13 tokens and 1 more are asked for"),
        ({"prompt": "abcd", "max_tokens": 10}, "the prompt has 4 tokens and 10 more are asked for"),
        ({"prompt": ["a", "a" * 12], "max_tokens": 2}, "the prompt has 12 tokens and 2 more"),
        ({"prompt": "a", "max_tokens": 0}, "max_tokens = 0 must be a whole number from 1 to 13"),
        ({"prompt": "a", "max_tokens": 1.5}, "max_tokens = 1.5 must be a whole number"),
        ({"prompt": "a", "max_tokens": "9"}, 'max_tokens = "9" must be a whole number'),
        ({"prompt": "a", "max_tokens": 9.0}, "max_tokens = 9.0 must be a whole number"),
        ({"prompt": "a", "max_tokens": True}, "max_tokens = true must be a whole number"),
        ({"prompt": "a", "temperature": 3}, "temperature = 3 must be a number from 0 to 2"),
        ({"prompt": "a", "temperature": float("nan")}, "temperature = NaN must be a number from 0 to 2"),
        ({"prompt": "a", "top_p": 1.1}, "top_p = 1.1 must be a number from 0 to 1"),
        ({"prompt": "a", "top_k": 38}, "top_k = 38 must be a whole number from -1 to 37"),
        ({"prompt": "a", "seed": -1}, "seed = -1 must be a whole number from 0"),
        ({"prompt": "a", "n": 0}, "n = 0 must be a whole number from 1 to 128"),
        ({"prompt": ["a"] * 65, "n": 2}, "2 texts for each of 65 prompts are more than 128"),
        ({"prompt": "a", "n": 2, "stream": True}, "one request streams one text"),
        ({"prompt": "a", "echo": True}, "echo = true must be left out; it is not offered here"),
        ({"prompt": "a", "logprobs": 0}, "logprobs = 0 must be left out"),
        ({"prompt": "a", "best_of": 2}, "best_of = 2 must be left out"),
        ({"prompt": "a", "model": None}, 'model = null must be "whale", which is served here'),
    ],
)
def test_an_invalid_request_is_answered_with_what_it_may_be(fields, said):
    with pytest.raises(InvalidRequest) as invalid:
        request(**fields)
    assert said in str(invalid.value)
