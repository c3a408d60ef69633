"""The real server, asked by the real client, on a port of this machine that nobody else can reach.

What stands before the model is tested without a model in the other files here; this one has what needs one.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import cycle, product
from pathlib import Path
from types import SimpleNamespace

import httpx
import numpy as np
import psutil
import pytest
from max.serve.config import Settings

from checker.course.steps import SMALL_MODEL
from checker.files import ROOT
from play.processor import instruction_sets
from play.serving.options import LARGEST_BODY, ServerOptions
from play.signals import ENDINGS
from tests.dev.play.serving.real_server import KEY, MODEL, WITH_KEY, Server, openai
from tools.course_copy import python

pytestmark = pytest.mark.slow

START_SIGNALS = 24  # that the test of all moments sends
ENDED_SECONDS = 5  # after a signal while the model is not ready
SILENT_SECONDS = 3  # that ``/health`` may take while the model is started again, beside other tests
CONFIG = json.loads((SMALL_MODEL / "config.json").read_text())
CONTEXT, VOCABULARY = CONFIG["n_positions"], CONFIG["vocab_size"]
LONG = "It was a clear steel-blue day. The firmaments of air and sea were hardly separable in that azure. " * 4
PROMPTS = [f"{who} {what}" for who in ("The whale", "Captain Ahab", "Queequeg", "Call") for what in ("", "said", "was")]
#: What bfloat16 writes after it is not what float32 does.
MOVED = "But soon my line was out; and following it back, I emerged from the opening where I entered."


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The one that most tests visit, as ``./run serve`` starts it.

    It ends by a signal to all of its processes, as systemd and a terminal send it, while a text is being written.
    """
    file = tmp_path_factory.mktemp("secrets") / "keys"
    file.write_text(f"another\n{KEY}\n")
    options = ("--api-key", str(file), "--log-json", "--restart", "--batch", "32", "--grace", "600")
    with Server(*options, command=[str(ROOT / "run"), "serve"], key=KEY, NO_PIXI="1") as server:
        assert server.worker(), "the process that `run` became is the server itself, so a signal to it alone will do"
        yield server
        stream = server.stream()
        os.killpg(server.process.pid, signal.SIGTERM)
        assert [part.choices[0].finish_reason for part in stream][-1] == "length", "what runs is finished"
        assert server.status() == 0
        lines = server.lines()
        warnings = {line["message"] for line in lines if line["level"] != "INFO"}
        slow_end = {message for message in warnings if "would not die" in message}  # MAX gives it a second
        assert warnings - slow_end <= {"Invalid HTTP request received."}
        assert all(line.keys() >= {"level", "message", "time"} for line in lines)
        last = {"message": "request", "status": 200, "generated_tokens": 250, "complete": True}
        assert lines[-1].items() >= last.items()
        assert KEY not in server.output()
        assert "Call me" not in server.output()


def generated(prompt, *options):
    """What ``./run generate`` prints."""
    fixed = ("--temperature", "0", "--max-new-tokens", "16")
    return python(ROOT, "-m", "cli", "generate", prompt, *fixed, *options, status=0, timeout=600).stdout


def test_the_text_is_that_of_generate_streamed_or_not_and_of_many_clients_at_once(server):
    expected = generated(LONG)
    for _ in range(2):  # the second time, the pages of a long prompt are in the cache
        assert LONG + server.text(LONG) + "\n" == expected
    pieces = [part.choices[0].text for part in server.complete("Call me", stream=True)]
    assert len(pieces) > 2  # what is generated while the server is busy comes together
    assert "".join(pieces) == server.text("Call me")
    alone = [server.text(prompt) for prompt in PROMPTS]
    with ThreadPoolExecutor(len(PROMPTS)) as clients:
        assert list(clients.map(server.text, PROMPTS)) == alone


def test_the_options_of_a_request_have_their_effects(server):
    greedy = server.text("Call me", max_tokens=40)
    for stop in (greedy[10:14], greedy[3], greedy[30:32], [greedy[20:28], greedy[22:24]]):
        first = min(greedy.find(one) for one in ([stop] if isinstance(stop, str) else stop))
        choice = server.complete("Call me", max_tokens=40, stop=stop).choices[0]
        assert (choice.finish_reason, choice.text) == ("stop", greedy[:first])
        parts = [part.choices[0] for part in server.complete("Call me", max_tokens=40, stop=stop, stream=True)]
        assert "".join(part.text for part in parts) == greedy[:first]
        assert parts[-1].finish_reason == "stop"
    ids = server.complete("Call me", extra_body={"return_token_ids": True}).choices[0].token_ids
    choice = server.complete("Call me", extra_body={"stop_token_ids": [ids[5]]}).choices[0]
    assert (choice.finish_reason, greedy.startswith(choice.text)) == ("stop", True)
    for seed in (0, 2**63 - 1):
        first, again, other = (server.text("Call me", temperature=1, seed=number) for number in (seed, seed, 7))
        assert first == again != other
    for narrow in ({"top_k": 1}, {"top_p": 1e-6}):
        assert server.text("Call me", temperature=2, seed=1, extra_body=narrow) == server.text("Call me")
    choices = server.complete(["Call me", "The whale"], n=3, temperature=1).choices
    assert [choice.index for choice in choices] == list(range(6))
    assert len({choice.text for choice in choices}) == 6
    several = server.complete(["Call me", "The whale"], n=2, temperature=1, seed=5)
    assert [choice.text for choice in several.choices] == [
        server.text(prompt, temperature=1, seed=seed) for prompt in ("Call me", "The whale") for seed in (5, 6)
    ], "as vLLM does: https://docs.vllm.ai/en/latest/api/vllm/v1/engine/parallel_sampling/"
    once = server.complete(["Call me", "The whale"], max_tokens=1).usage.prompt_tokens
    assert (several.usage.prompt_tokens, several.usage.completion_tokens) == (once, 4 * 16)
    filled = server.client.completions.create(model=MODEL, prompt=[5] * (CONTEXT - 16), temperature=0)
    assert filled.usage.total_tokens == CONTEXT
    assert server.client.completions.create(model=MODEL, prompt="Call me", temperature=0).usage.completion_tokens == 16
    (model,) = server.client.models.list().data
    assert (model.id, model.max_model_len) == (MODEL, CONTEXT)
    assert server.client.models.retrieve(MODEL).id == MODEL


def test_what_a_request_may_have_at_most_is_answered_and_clients_that_leave_make_room(server):
    for fields, status in (
        ({"stop": ["z" * 128] * 16, "stop_token_ids": [0] * 128, "ignore_eos": True, "top_k": 1024}, 200),
        ({"prompt": ["Call me"] * 128, "max_tokens": 1}, 200),
        ({"user": "z" * (20 * LARGEST_BODY)}, 413),  # sent before one reads
    ):
        request = {"model": MODEL, "prompt": "Call me", "max_tokens": 16} | fields
        answer = httpx.post(f"{server.address}/v1/completions", json=request, headers=WITH_KEY, timeout=60)
        assert (answer.status_code, '"error"' in answer.text) == (status, status != 200)
    for _ in range(40):
        with server.complete("Call me", max_tokens=200, stream=True) as stream:
            next(iter(stream))

    def left():
        return [line for line in server.lines() if line.get("status") == 499]

    server.wait_until(lambda: len(left()) == 40, 30)
    assert all(line["prompt_tokens"] and 0 < line["generated_tokens"] < 200 for line in left())
    with ThreadPoolExecutor(6) as clients:
        requests = [clients.submit(server.complete, "Call me", n=96, max_tokens=20) for _ in range(6)]
    refusals = [request.exception() for request in requests if request.exception()]
    assert {type(refusal) for refusal in refusals} == {openai.RateLimitError}  # 32 texts run and 256 wait
    assert {len(request.result().choices) for request in requests if not request.exception()} == {96}
    assert server.text("Call me")


#: Each is about as much as a body may be, and none of it can be answered.
FLOODS = [{"prompt": "a " * 500_000}, {"prompt": ["a"] * 200_000}, {"prompt": [5] * 300_000}, {"stop": ["a"] * 200_000}]
FLOODS += [{"stream_options": dict.fromkeys(map(str, range(60_000)), True)}, dict.fromkeys(map(str, range(60_000)), 1)]


LARGE_HEAD = b"GET /version HTTP/1.1\r\nhost: here\r\nlarge: " + b"x" * 4_000_000


@pytest.mark.parametrize("fields", [*FLOODS, None])
def test_others_are_answered_within_200_ms_whatever_one_client_sends(server, fields):
    content = json.dumps({"model": MODEL, "prompt": "Call me"} | (fields or {})).encode()
    place = ("127.0.0.1", httpx.URL(server.address).port)

    def flood():
        if fields:
            sent = httpx.post(f"{server.address}/v1/completions", content=content, headers=WITH_KEY, timeout=60)
            return sent.status_code == 400
        # the server closes it before all is sent
        with suppress(ConnectionError), socket.create_connection(place, timeout=10) as connection:
            connection.sendall(LARGE_HEAD)
            return b" 400 " in connection.recv(20)
        return True

    def longest_wait():
        with ThreadPoolExecutor(1) as other, httpx.Client(timeout=60) as client:
            flooding, waits = other.submit(flood), []
            while not (waits and flooding.done()):
                began = time.monotonic()
                assert client.get(f"{server.address}/health").status_code == 200
                waits.append(time.monotonic() - began)
            assert flooding.result()
        return max(waits)

    assert any(longest_wait() < 0.2 for _ in range(9)), "at its best: the machine may have other work"


def test_the_figures_are_those_of_the_requests(server):
    before, after = server.figures(), {}
    server.complete(["Call me", "The whale, and"], max_tokens=20)
    list(server.complete("Call me", max_tokens=20, stream=True))
    expected = {
        'gpt2_requests_total{path="/v1/completions",status="200"}': 2,
        "maxserve_num_output_tokens_total": 60,
        "maxserve_time_to_first_token_milliseconds_count": 3,
        "maxserve_time_per_output_token_milliseconds_count": 3,
    }

    def are_there():
        after.update(server.figures())
        grown = {name: value - before.get(name, 0) for name, value in after.items()}
        batches = sum(value for name, value in grown.items() if name.startswith("maxserve_batch_size_sum"))
        return grown.items() >= expected.items() and batches == 60  # each pass gives a token for each text of its batch

    server.wait_until(are_there, 30)  # the model's process sends its figures a moment later
    assert (after["gpt2_texts_running"], after["gpt2_texts_waiting"]) == (0, 0)
    assert after["maxserve_cache_num_total_blocks"] == 32 * CONTEXT // 128
    assert server.figures().keys() >= after.keys(), "a figure stays, though nothing has changed it"


def test_requests_are_told_when_the_models_process_is_killed_and_it_is_started_again(server):
    text = server.text("Call me")
    with ThreadPoolExecutor(1) as client:
        stream = server.stream()
        waiting = client.submit(server.complete, "The whale", max_tokens=250)
        while server.figures()["gpt2_texts_running"] < 2:
            time.sleep(0.01)
        server.worker().kill()
        with pytest.raises(openai.APIError, match="the process that runs the model ended while it ran this request"):
            list(stream)
        refusal = waiting.exception()
        assert (refusal.status_code, refusal.response.headers["retry-after"]) == (503, "5")
    while not server.answers():
        began = time.monotonic()
        assert server.get("/health").status_code == 200
        assert time.monotonic() - began < SILENT_SECONDS
    assert server.text("Call me") == text


@pytest.mark.nightly
@pytest.mark.parametrize("options", [(), ("--replicas", "2")])
def test_a_signal_at_any_moment_of_a_start_ends_everything_soon(options):
    """A start of 12 seconds gets one every half second, to the process or its group."""
    began = time.monotonic()
    with Server(*options, until=lambda server: "ready at" in server.output()):
        whole = time.monotonic() - began
    ways = cycle(product(ENDINGS, (os.kill, os.killpg)))
    for moment, (number, send) in zip(np.linspace(0, whole, START_SIGNALS), ways, strict=False):
        temporary = Path(tempfile.mkdtemp(dir="/tmp"))
        with Server(*options, until=lambda server: True, TMPDIR=str(temporary)) as server:
            time.sleep(moment)
            send(server.process.pid, number)
            server.wait_until(lambda server=server: server.process.poll() is not None, ENDED_SECONDS)
            server.wait_until(lambda server=server: not server.processes(), ENDED_SECONDS)
            listening = [each for each in psutil.net_connections("inet") if each.status == psutil.CONN_LISTEN]
            assert int(server.mark[1]) not in {each.laddr.port for each in listening}
            assert [path for path in temporary.iterdir() if "torch" not in path.name] == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--host", "0.0.0.0"), "give --api-key FILE, a file with one key per line, or say --no-key"),
        (("--port", "70000"), "choose another --port"),
        (("--quantize", "q4_0", "--device", "gpu"), "--quantize runs on the CPU; leave --device gpu away"),
        (("--mine", "--quantize", "q4_0"), ", s22. Write them"),
        (("--mine", "--model", "smollm2"), ", s15, s22, s23, s24, s25, s26, s27. Write them"),
        (("--model", "smollm2", "--quantize", "q4_0"), "leave it away with a GGUF file, which says its own"),
        (("--dtype", "bfloat16", "--no-kernels"), "only the kernels multiply in bfloat16"),
    ],
)
def test_what_cannot_be_served_is_said(arguments, sentence, course):
    assert sentence in course.check("serve", *arguments, status=2).stderr


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("begins", "problem"),
    [
        ("        positions = ragged_positions(", "raise ValueError('mine')"),
        pytest.param("        positions = ragged_positions(", "raise SystemExit('mine')", marks=pytest.mark.nightly),
        ("def last_rows(", "raise ValueError('mine')"),
    ],
)
def test_mine_is_what_is_served_and_the_step_that_ends_it_is_named(problem, begins, course):
    """In the process that runs the model, or where the steps are imported."""
    for number in range(1, 16):
        course.write(f"{number:02}")
    indented = begins[: len(begins) - len(begins.lstrip())]
    course.write("15", edits={begins: f"{indented}{problem}\n{begins}"})
    run = course.check("serve", "--mine", "--port", "0")
    assert run.returncode in (1, 2)
    assert "steps/step_15.py" in run.stderr
    assert problem in run.stderr or f"{problem[6:-8]}: mine" in run.stderr
    assert "`./run s15` checks this step" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.nightly
def test_without_the_kernels_every_text_is_the_same_and_in_fewer_bits_that_of_generate(server):
    with ThreadPoolExecutor(len(PROMPTS)) as clients:
        texts = list(clients.map(server.text, PROMPTS))  # up to 32 rows
    assert texts[0] == server.text(PROMPTS[0])  # one row for each new token
    with Server("--no-kernels") as plain:
        assert [plain.text(prompt) for prompt in PROMPTS] == texts
    halves = [(MOVED, "--dtype", "bfloat16")] * ("AVX-512" in instruction_sets())
    for prompt, *options in [(LONG, "--quantize", "q4_0"), *halves]:
        text = generated(prompt, *options)
        assert text != generated(prompt)
        with Server(*options) as rounded:
            assert prompt + rounded.text(prompt) + "\n" == text


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what MAX's server imports
@pytest.mark.parametrize(("batch", "queue", "most"), [(32, 256, 128), (2, 3, 5)])
def test_a_request_may_ask_for_as_many_texts_as_there_are_places(batch, queue, most):
    from play.serving.max.server import Served  # which patches MAX

    tokenizer = SimpleNamespace(get_vocab=lambda: {"a": 0})
    checkpoint = SimpleNamespace(
        name=MODEL, n_positions=CONTEXT, vocab_size=1, encode=list, answers=False, tokenizer=tokenizer
    )
    served = SimpleNamespace(checkpoint=checkpoint, options=ServerOptions(MODEL, batch=batch, queue=queue))
    assert Served._limits(served).most_choices == most


def test_the_page_gives_max_options_that_it_has():
    """What the command does was tried by hand, since it fetches a model."""
    page = (ROOT / "book/src/serving.md").read_text()
    (command,) = re.findall(r"^\.venv/bin/max serve .*", page, re.MULTILINE)
    _, _, *options = command.split()
    call = [Path(sys.executable).with_name("max"), "serve", "--help"]
    known = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    assert {option for option in options if option.startswith("--")} <= {*re.findall(r"--[\w-]+", known)}
    fields = {field.alias: field for field in Settings.model_fields.values()}
    assert {*re.findall(r"export (MAX_\w+)=", page)} <= fields.keys()
    assert fields["MAX_SERVE_HOST"].default == "0.0.0.0", "any machine can use it, the page says"
