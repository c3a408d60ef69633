"""A Ray Serve application of several servers. It runs in Ray's environment, and knows nothing of MAX.

    python -m play.serving.replicas.application --replicas 2 --host 127.0.0.1 --port 8000 -- COMMAND …

On a cluster, ``deploy/ray/serve.yaml`` names ``build`` instead. Each replica starts a server of its own and passes
requests on. While its server starts again, its requests wait. A request whose answer has not begun is sent again; a
stream that has begun ends with an error event. A signal lets every server finish what it has.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterable, Sequence, Set
from typing import Any

import aiohttp
import ray
from ray import serve
from ray.exceptions import RayError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from play.serving.front import answers
from play.serving.front.admission import LARGEST_BODY
from play.serving.front.answers import Body, Headers, header
from play.serving.front.standing import DRAINING
from play.serving.replicas.restarting import CannotStart, Restarting

NAME = "gpt2"  # of the application, and of its deployment
TRIES = 3  # for a request whose answer has not begun
#: Headers of one connection, and those that the next one gets anew: Ray gives answers their id.
NOT_PASSED_ON = {b"connection", b"content-length", b"date", b"expect", b"host", b"keep-alive", b"server",
                 b"transfer-encoding", b"upgrade"}  # fmt: skip
NOT_PASSED_BACK = NOT_PASSED_ON | {b"x-request-id"}
OURS_TO_SAY = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")  # a client's, or nobody's
GONE = "the server of this replica ended before the text was complete; send the request again"
NO_METRICS = (
    "each server counts for itself, so there are no metrics of all of them here; ask each at the port that it logs "
    "when it is ready. This replica's server has them at {address}/metrics, for programs on its machine"
)
AT_ONCE = 1000  # requests that Ray gives a replica; its server says sooner when its queue is full
QUIET = {"enable_access_log": False, "log_level": "WARNING"}  # each server has a log of its own
OBJECTS = 100 << 20  # bytes; Ray takes a third of the memory if it is not told, and requests are small
GRACE_SECONDS = 30.0  # of each server, if nothing is said; `./run serve` says it
LAST_SECONDS = 10.0  # in which a server ends after that
LAST_WORDS_SECONDS = 0.5  # in which the end of an answer passes through Ray
SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Replica:
    """One replica: it starts a server, passes requests on to it, and says whether it is well.

    Args:
        command: starts the server, but for its port.
    """

    async def __init__(self, command: Sequence[str]) -> None:  # type: ignore[misc]  # Ray awaits it
        name = serve.get_replica_context().replica_id.unique_id
        self.server = Restarting(command, "" if "--log-json" in command else f"[{name}] ")
        self.session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None, connect=5),
            auto_decompress=False,
            skip_auto_headers=OURS_TO_SAY,
        )
        await self.server.until_ready()

    async def check_health(self) -> None:
        """Raise if the server cannot be started, and Ray replaces this replica.

        While the server starts again, the replica is well. Ray would only start another server from the beginning, and
        end the requests that wait here. So this looks, and never waits: Ray takes a late answer for a failure.

        Raises:
            CannotStart: it cannot be started.
        """
        self.server.check()

    async def drain(self) -> None:
        """Take nothing new, and return once all that runs here has its answer or its time is over."""
        await self.server.drain()
        await asyncio.sleep(LAST_WORDS_SECONDS)

    async def __call__(self, request: Request) -> Response:
        """Pass a request on to the server, and its answer back."""
        if request.url.path == "/metrics":
            return _refusal(404, NO_METRICS.format(address=self.server.address))
        try:
            body = await _body(request)
        except ConnectionError:
            return Response(status_code=400)  # nobody is left to read it
        if body is None:
            return _refusal(413, f"the body is larger than {LARGEST_BODY:,} bytes")
        for _ in range(TRIES):
            try:
                answer = await self._ask(request, body)
                if answer.status != 503 or self.server.draining:
                    return await _passed_back(answer)
                answer.release()
            except aiohttp.ClientError:
                pass  # it has ended, or ends
            try:
                await self.server.until_ready()
            except CannotStart:
                break
        return _refusal(503, DRAINING if self.server.draining else GONE, answers.SOON)

    async def _ask(self, request: Request, body: bytes) -> aiohttp.ClientResponse:
        kept = _kept(request.headers.raw, NOT_PASSED_ON)
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in kept]
        return await self.session.request(
            request.method, f"{self.server.address}{request.url.path}", data=body, headers=headers
        )

    def __del__(self) -> None:
        """Let the server finish; Ray calls this when no request runs here."""
        self.server.end()


async def _body(request: Request) -> bytes | None:
    """Return the body, or nothing if it is too large; of such a body, no more than the limit is read.

    Raises:
        ConnectionError: the client has gone.
    """
    length = header(request.scope, b"content-length") or b""
    if length.isdigit() and int(length[:20]) > LARGEST_BODY:
        return None
    return await Body(request.scope, request.receive).read(LARGEST_BODY)


async def _passed_back(answer: aiohttp.ClientResponse) -> Response:
    """Return the server's answer, all of it or as a stream."""
    headers = _kept(answer.raw_headers, NOT_PASSED_BACK)
    if answer.content_type == "text/event-stream":
        response: Response = StreamingResponse(_events(answer), answer.status)
    else:
        body = await answer.read()
        response = Response(body, answer.status)
        headers.append((b"content-length", str(len(body)).encode()))
    response.raw_headers = headers  # not a mapping: a name may be there more than once
    return response


async def _events(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yield a stream as it comes; if it breaks off, say so in the stream."""
    try:
        async for piece in answer.content.iter_any():
            yield piece
    except aiohttp.ClientError:
        yield answers.event(503, GONE)
    finally:
        answer.close()  # so that the server stops working for a client that has gone away


def _kept(headers: Iterable[tuple[bytes, bytes]], without: Set[bytes]) -> Headers:
    """Return headers in their order, each as often as it came, but for some names."""
    return [(name.lower(), value) for name, value in headers if name.lower() not in without]


def _refusal(status: int, message: str, seconds: int | None = None) -> Response:
    """Return an error in the format of OpenAI's interface, and after how many seconds to ask again."""
    headers = {"retry-after": str(seconds)} if seconds else None
    return JSONResponse(answers.error(status, message), status, headers)


def build(options: dict[str, Any]) -> serve.Application:
    """Return the application for a cluster; Ray calls this with what its configuration says.

    Args:
        options: ``command``, which starts a server, as a list or as one line; ``replicas``; ``gpus`` of each;
            ``grace``, the seconds that running requests have once Ray ends a replica.

    Raises:
        ValueError: the command has neither keys nor says that there are none. The servers are at loopback addresses,
            so they do not ask for keys themselves; Ray's proxy listens wherever its configuration says.
    """
    command = options["command"]
    words = shlex.split(command) if isinstance(command, str) else list(command)
    if not {"--api-key", "--no-key"} & set(words):
        raise ValueError(
            "anybody who reaches Ray's proxy could ask: add --api-key FILE to the command, a file with one key per "
            "line, or --no-key if something in front of the proxy decides who may ask"
        )
    return _application(options | {"command": words})


def _application(options: dict[str, Any]) -> serve.Application:
    grace = float(options.get("grace", GRACE_SECONDS))
    deployment = serve.deployment(
        Replica,
        name=NAME,
        num_replicas=int(options.get("replicas", 1)),
        max_ongoing_requests=AT_ONCE,
        health_check_period_s=2,
        health_check_timeout_s=10,
        graceful_shutdown_wait_loop_s=0.5,
        graceful_shutdown_timeout_s=grace + LAST_SECONDS,
        logging_config=QUIET,
        ray_actor_options={"num_cpus": 0, "num_gpus": float(options.get("gpus", 0))},
    )
    return deployment.bind([*options["command"], "--grace", str(grace)])


def _running() -> int:
    """Return how many replicas take requests now, which may be before all of them do."""
    if not ray.is_initialized():
        return 0
    application = serve.status().applications.get(NAME)
    return sum(one.replica_states.get("RUNNING", 0) for one in application.deployments.values()) if application else 0


async def _live(grace: float, asked: bool) -> int:
    """Wait for a signal, have every server finish what it has, and return the exit status; a second one ends that.

    Args:
        grace: seconds that running requests have.
        asked: whether the first signal has come already.
    """
    signals, loop = asyncio.Queue[int](), asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, signals.put_nowait, int(number))
    if not asked:
        await signals.get()
    if not _running():
        return 0
    _tell(f"nothing new is taken; what runs has {grace:g} s to finish. A second signal ends it at once")
    drained = asyncio.ensure_future(serve.get_app_handle(NAME).broadcast("drain").results_async())
    second = asyncio.create_task(signals.get())
    await asyncio.wait({drained, second}, timeout=grace + LAST_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    return 128 + second.result() if second.done() else 0


def _tell(message: str) -> None:
    print(f"serve: {message}", file=sys.stderr, flush=True)


def _serve(given: argparse.Namespace) -> int:
    """Serve on this machine until a signal ends it, and return the exit status."""
    asked = False
    try:
        try:
            ray.init(include_dashboard=False, logging_level="warning", object_store_memory=OBJECTS)
            serve.start(http_options={"host": given.host, "port": given.port}, logging_config=QUIET)
            serve.run(_application(vars(given)), name=NAME)
            address = f"http://{given.host}:{given.port}/v1"
            _tell(f"{given.replicas} servers are ready at {address}; Ctrl-C ends them")
        except (KeyboardInterrupt, SystemExit):  # a signal: Ray makes one of them a SystemExit
            asked = True
        return asyncio.run(_live(given.grace, asked))
    except RuntimeError as error:
        _tell(str(error))
    except (TimeoutError, RayError) as error:  # Ray itself, on a machine that is very slow or has no memory left
        first = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        _tell(f"Ray did not start: {first}. Try again when less runs on this machine")
    return 2


def main() -> None:
    """Serve on this machine until a signal ends it, and end this process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--gpus", type=float, default=0)
    parser.add_argument("--grace", type=float, default=GRACE_SECONDS)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("command", nargs="+")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    status = _serve(parser.parse_args())
    # Threads of Ray's in this process may wait for its controller when that is gone, and abort after a minute. So this
    # process does not wait for them, neither in Ray's shutdown nor after it.
    late = threading.Timer(LAST_SECONDS, os._exit, (status,))
    late.daemon = True
    late.start()
    ray.shutdown()  # with all that it started
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
