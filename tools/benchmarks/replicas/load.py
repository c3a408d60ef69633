"""Send completion requests from many clients, and keep what each got: its text, its times, or how it failed.

A client here never asks twice: every failure is to be counted. It reads a stream as a careful client
would: text without the closing ``[DONE]``, and text with an error event, are failures.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import math
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field

SERVED_BY = "x-served-by"  # the header by which deploy/haproxy/haproxy.cfg names the server that answered
LONGEST = 120.0  # seconds that a client waits for the next piece


@dataclass(frozen=True)
class Request:
    """One request for a completion."""

    prompt: str | Sequence[int]
    tokens: int = 16
    stream: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    model: str = "moby-dick"

    def body(self) -> bytes:
        """Return it as JSON."""
        fields = {"model": self.model, "prompt": self.prompt, "max_tokens": self.tokens, "temperature": 0}
        return json.dumps(fields | {"stream": self.stream}).encode()


@dataclass(frozen=True)
class Answer:
    """What one request got."""

    request: Request
    started: float  # by time.monotonic()
    seconds: float  # until the last byte, or until it failed
    first: float  # seconds until the first piece of text; without a stream, the same
    status: int  # 0 if no answer began
    server: str  # the name that the balancer gives it, if there is one
    text: str
    error: str  # nothing if all of the text came

    @property
    def right(self) -> bool:
        """Whether all of the text came."""
        return not self.error


class Client:
    """One client with one connection, which it keeps as long as answers come."""

    def __init__(self, port: int, longest: float = LONGEST) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=longest)

    def ask(self, request: Request) -> Answer:
        """Send a request, and wait until its answer has come or failed."""
        got, response = _Getting(request), None
        try:
            headers = {"content-type": "application/json", **request.headers}
            self.connection.request("POST", "/v1/completions", request.body(), headers)
            response = self.connection.getresponse()
            got.status, got.server = response.status, response.getheader(SERVED_BY, "")
            got.read(response)
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            got.error = f"{type(error).__name__}: {error}"
        if got.error or response is None or not got.whole:
            self.close(response)  # what is left of this answer must not become the next one's
        return got.answer()

    def close(self, response: http.client.HTTPResponse | None = None) -> None:
        """Close the connection, and a response of which not all was read; the next request opens another."""
        if response is not None:
            response.close()
        self.connection.close()


class _Getting:
    """An answer while it comes."""

    def __init__(self, request: Request) -> None:
        self.request, self.started = request, time.monotonic()
        self.first, self.status, self.server, self.text, self.error = math.nan, 0, "", "", ""
        self.whole = False  # whether the body has come to its end, so that another request may follow

    def read(self, response: http.client.HTTPResponse) -> None:
        """Read the body of a response."""
        if self.request.stream and response.status == 200:
            return self._read_stream(response)
        body, self.whole = response.read(), True
        if response.status != 200:
            self.error = f"status {response.status}: {_message(body)}"
        else:
            self.text = json.loads(body)["choices"][0]["text"]

    def _read_stream(self, response: http.client.HTTPResponse) -> None:
        """Read events to the end of the body; after ``[DONE]`` the text is right, even if the server is gone then."""
        self.error = "the stream ended without [DONE]"
        for line in self._lines(response):
            event = line.decode().strip().removeprefix("data:").strip()
            if event == "[DONE]":
                self.error = ""
            elif event.startswith("{"):
                told = json.loads(event)
                if "error" in told:
                    self.error = f"error event: {_message(event.encode())}"
                    return
                self.text += told["choices"][0]["text"] if told["choices"] else ""
                self.first = time.monotonic() - self.started if math.isnan(self.first) else self.first

    def _lines(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        """Yield what comes, line by line; iterating over the response would take a broken body for a whole one."""
        begun = b""
        with contextlib.suppress(http.client.IncompleteRead, ConnectionError):
            while piece := response.read1():
                *lines, begun = (begun + piece).split(b"\n")
                yield from lines
            self.whole = response.isclosed() or response.length == 0

    def answer(self) -> Answer:
        """Return it, now that it has ended."""
        took = time.monotonic() - self.started
        first = took if math.isnan(self.first) else self.first
        return Answer(self.request, self.started, took, first, self.status, self.server, self.text, self.error)


def _message(body: bytes) -> str:
    """Return the sentence in an error of OpenAI's interface, or the body if it is none."""
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:200]


def closed_loop(
    port: int,
    requests: Iterable[Request],
    clients: int,
    *,
    after: Callable[[int], None] = lambda count: None,
) -> list[Answer]:
    """Have each of ``clients`` ask again as soon as it has an answer, until all requests are sent.

    Args:
        port: of the server or the balancer, on this machine.
        requests: what is asked; the clients share them.
        clients: how many ask at once.
        after: called with the number of answers so far, after each; it must return at once.
    """
    left, lock, answers = iter(requests), threading.Lock(), list[Answer]()

    def client(_: int) -> None:
        with closing(Client(port)) as asking:
            while True:
                with lock:
                    request = next(left, None)
                if request is None:
                    return
                answer = asking.ask(request)
                with lock:
                    answers.append(answer)
                    after(len(answers))

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(client, range(clients)))
    return answers


def for_seconds(port: int, requests: Sequence[Request], clients: int, duration: float) -> list[Answer]:
    """Have ``clients`` ask for some seconds, each one request after another, in turns through a list."""
    end = time.monotonic() + duration

    def in_time() -> Iterator[Request]:
        yield from itertools.islice(itertools.cycle(requests), clients)  # each asks once at least
        for request in itertools.cycle(requests):
            if time.monotonic() > end:
                return
            yield request

    return closed_loop(port, in_time(), clients)


def moments(count: int, rate: float, seed: int) -> list[float]:
    """Return when requests of people who know nothing of each other come, in seconds, ``rate`` a second on average.

    The times between two of them are drawn from an exponential distribution.
    """
    drawn = random.Random(seed)
    return list(itertools.accumulate(drawn.expovariate(rate) for _ in range(count)))


def open_loop(port: int, requests: Sequence[Request], rate: float, seed: int) -> list[Answer]:
    """Send requests at their ``moments``, whether or not earlier ones are answered."""
    free, lock = list[Client](), threading.Lock()

    def send(request: Request) -> Answer:
        with lock:
            client = free.pop() if free else Client(port)
        answer = client.ask(request)
        with lock:
            free.append(client)
        return answer

    with ThreadPoolExecutor(len(requests)) as pool:
        coming, begun = [], time.monotonic()
        for request, moment in zip(requests, moments(len(requests), rate, seed), strict=True):
            time.sleep(max(0.0, begun + moment - time.monotonic()))
            coming.append(pool.submit(send, request))
        answers = [one.result() for one in coming]
    for client in free:
        client.close()
    return answers


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least ``share`` of all values reach or stay below."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
