"""A Ray Serve application of several servers. It runs in Ray's environment, and knows nothing of MAX.

    python -m play.serving.replicas.application --replicas 2 --host 127.0.0.1 --port 8000 -- COMMAND …

On a cluster, ``deploy/ray/serve.yaml`` names ``build`` instead. Each replica starts a server of its own and passes
requests on. While its server starts again, its requests wait. A request whose answer has not begun is sent again; a
stream that has begun ends with an error event.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any

import aiohttp
import ray
from ray import serve
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from play.serving.replicas.restarting import CannotStart, Restarting

TRIES = 3  # for a request whose answer has not begun
NOT_PASSED_ON = {"connection", "content-length", "date", "host", "keep-alive", "server", "transfer-encoding", "upgrade"}
GONE = "the server of this replica ended before the text was complete; send the request again"
AT_ONCE = 1000  # requests that Ray gives a replica; its server says sooner when its queue is full
QUIET = {"enable_access_log": False, "log_level": "WARNING"}  # each server has a log of its own
OBJECTS = 100 << 20  # bytes; Ray takes a third of the memory if it is not told, and requests are small
GRACE_SECONDS = 40.0  # more than the server takes to finish what it has (`--grace`)


class Replica:
    """One replica: it starts a server, passes requests on to it, and says whether it is well.

    Args:
        command: starts the server, but for its port.
    """

    async def __init__(self, command: Sequence[str]) -> None:  # type: ignore[misc]  # Ray awaits it
        self.server = Restarting(command)
        self.session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None, connect=5), auto_decompress=False
        )
        await self.server.until_ready()

    async def check_health(self) -> None:
        """Start the server again if it has ended; raise where it does not answer, and Ray replaces this replica.

        Raises:
            CannotStart: it cannot be started again.
        """
        await self.server.until_ready()

    async def __call__(self, request: Request) -> Response:
        """Pass a request on to the server, and its answer back."""
        if request.url.path == "/metrics":
            return Response(status_code=404)  # it would be those of any one server
        body = await request.body()
        headers = {name: value for name, value in request.headers.items() if name not in NOT_PASSED_ON}
        for _ in range(TRIES):
            try:
                address = f"{self.server.address}{request.url.path}"
                answer = await self.session.request(request.method, address, data=body, headers=headers)
                if answer.status != 503:
                    return await self._passed_back(answer)
                answer.release()
            except aiohttp.ClientError:
                pass  # it has ended, or ends
            try:
                await self.server.until_ready()
            except CannotStart:
                break
        return Response(_error(GONE), 503, {"retry-after": "5"}, "application/json")

    async def _passed_back(self, answer: aiohttp.ClientResponse) -> Response:
        """Return the server's answer, all of it or as a stream."""
        headers = {name: value for name, value in answer.headers.items() if name.lower() not in NOT_PASSED_ON}
        if answer.content_type == "text/event-stream":
            return StreamingResponse(_events(answer), answer.status, headers)
        return Response(await answer.read(), answer.status, headers)

    def __del__(self) -> None:
        """Let the server finish; Ray calls this when no request runs here."""
        self.server.end()


async def _events(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yield a stream as it comes; if it breaks off, say so in the stream."""
    try:
        async for piece in answer.content.iter_any():
            yield piece
    except aiohttp.ClientError:
        yield f"data: {_error(GONE)}\n\n".encode()
    finally:
        answer.close()  # so that the server stops working for a client that has gone away


def _error(message: str) -> str:
    """Return an error in the format of OpenAI's interface."""
    return json.dumps({"error": {"message": message, "type": "server_error", "param": None, "code": "503"}})


def build(options: dict[str, Any]) -> serve.Application:
    """Return the application; Ray calls this with what its configuration says.

    Args:
        options: ``command``, which starts a server, as a list or as one line; ``replicas``; ``gpus`` of each.
    """
    command = options["command"]
    deployment = serve.deployment(
        Replica,
        name="gpt2",
        num_replicas=int(options.get("replicas", 1)),
        max_ongoing_requests=AT_ONCE,
        health_check_period_s=2,
        health_check_timeout_s=10,
        graceful_shutdown_wait_loop_s=0.5,
        graceful_shutdown_timeout_s=GRACE_SECONDS,
        logging_config=QUIET,
        ray_actor_options={"num_cpus": 0, "num_gpus": float(options.get("gpus", 0))},
    )
    return deployment.bind(shlex.split(command) if isinstance(command, str) else list(command))


async def _until_asked_to_end() -> None:
    asked, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked.set)
    await asked.wait()


def main() -> int:
    """Serve on this machine until a signal ends it, and return the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--gpus", type=float, default=0)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    ray.init(include_dashboard=False, logging_level="warning", object_store_memory=OBJECTS, log_to_driver=False)
    try:
        serve.start(http_options={"host": given.host, "port": given.port}, logging_config=QUIET)
        try:
            serve.run(build(vars(given)), name="gpt2")
        except RuntimeError as error:
            print(f"serve: {error}", file=sys.stderr)
            return 2
        address = f"http://{given.host}:{given.port}/v1"
        print(f"serve: {given.replicas} servers are ready at {address}; Ctrl-C ends them", file=sys.stderr)
        asyncio.run(_until_asked_to_end())
    finally:
        serve.shutdown()
        ray.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
