"""Several replicas of the server in Ray Serve, each with a model and a cache of its own.

Ray's proxy takes connections and gives each request to one of two replicas drawn at random, the one with fewer. A
replica has the whole front. Ray replaces it when its process is killed, or when its model's process ends and is not
started again.

Ray starts a dozen processes. They are all in the session of one, the driver, so no signal to the server's group reaches
them, and the server can end them whatever they do. To have the driver drain, it closes a pipe to it.

A trick, ``loopback``: a private function of Ray's is replaced in a replica, which has it listen at 127.0.0.1 alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import secrets
import signal
import sys
import threading
import time
from _thread import interrupt_main
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import ray
from ray import serve
from ray.exceptions import RayError
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from checker.device import DeviceKind
from checker.errors import UserError
from checker.files import ROOT
from play.mine.choice import HANDED_ON, handed_on
from play.serving import request_log
from play.serving.keys import Keys
from play.serving.life import GIVEN_UP, finish, received_signals, temporary_folder
from play.serving.options import OF_THE_MODEL, ServerOptions
from play.serving.service import MODEL_ENDED, refusal
from play.startup import Tell

NAME = "gpt2"  # of the application, and of its deployment
AT_ONCE = 10_000  # requests that Ray gives a replica, which says itself when its queue is full
LOOK_SECONDS = 2  # between two looks of Ray's at a replica
LAST_SECONDS = 10.0  # in which a replica ends after its grace
LEAVING_SECONDS = 4.0  # in which a cluster that has begun to serve has heard that it is to stop
KILL_SECONDS = 3.0  # in which killed processes have ended
OBJECTS = 100 << 20  # bytes; Ray takes a third of the memory if it is not told, and requests are small
SOCKET = 66  # characters that Ray needs for the name of a socket
QUIET = {"enable_access_log": False, "log_level": "WARNING"}  # each replica has a log of its own
ADDRESS = os.environ.get("RAY_ADDRESS", "local")  # of the cluster to serve on
DRIVER = f"from {__name__} import drive; drive()"
SERVING = "serving"  # a file that the driver makes in the temporary folder once there is something to drain
ALONE = {  # the environment of Ray's processes where they are on this machine alone
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # its ports are at 127.0.0.1, as on those systems
    "RAY_AUTH_MODE": "token",
    "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": f"{__name__}:around_the_proxy",
}


class Replica:
    """One replica: the server's application without its port.

    Args:
        options: the options of the server.
        keys: one of which a request needs, if there are any.
        tell: says how far along it is.
    """

    # Ray awaits it
    async def __init__(self, options: ServerOptions, keys: Keys | None, tell: Tell) -> None:  # type: ignore[misc]
        handed_on().install()
        from play.serving.max.server import Served
        from play.serving.served_checkpoint import checkpoint_of

        if ADDRESS == "local":
            _bind_to_loopback()
        if options.log_json:
            request_log.log_as_json()
        served = Served(options, checkpoint_of(options, tell), keys)
        self.service, self.front, self.grace = served.service, served.front, options.grace
        self.model = asyncio.create_task(self.service.keep(served.model, options.restart, tell, "a replica is ready"))
        first_ready = asyncio.create_task(self.service.first_ready.wait())
        await asyncio.wait({self.model, first_ready}, return_when=asyncio.FIRST_COMPLETED)
        await self.check_health()

    def __serve_build_asgi_app__(self) -> ASGIApp:
        """Return the application; Ray calls this once the replica is made."""
        return WithoutId(self.front)

    async def check_health(self) -> None:
        """Raise if the model has ended and is not started again, so that Ray replaces this replica.

        Raises:
            ModelEnded: it has.
        """
        if self.model.done():
            self.model.result()

    async def drain(self) -> None:
        """Take nothing new, and return once all that runs here has its answer or its time is over."""
        await self.service.drain(self.grace)


class WithoutId:
    """Leaves the request's id out of an answer: Ray's proxy chooses the id, and puts it into the answer.

    Args:
        app: what answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self.app(scope, receive, partial(_send_without_id, send))


async def _send_without_id(send: Send, message: Message) -> None:
    """Send a part of an answer but for the request's id."""
    if message["type"] == "http.response.start":
        del MutableHeaders(scope=message)[request_log.ID]
    await send(message)


def _bind_to_loopback() -> None:
    """Let a server inside this replica, which nothing here asks, listen at 127.0.0.1; Ray has no option for it."""
    from ray.serve._private import replica

    add_port = replica.add_port_to_grpc_server
    replica.add_port_to_grpc_server = lambda server, address: add_port(server, address.replace("[::]", "127.0.0.1"))


class Answering:
    """Answers in Ray's proxy where Ray does not: when a replica has been killed while it had a request.

    Args:
        app: Ray's proxy.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and end its answer if that is still to do."""
        sent = SentAnswer(send)
        await self.app(scope, receive, sent.send_and_note)
        if scope["type"] != "http" or sent.is_ended:
            return
        gone = refusal(503, MODEL_ENDED, {request_log.ID: Headers(scope=scope).get(request_log.ID, "")})
        if sent.kind is None:
            await gone(scope, receive, send)
        elif sent.kind.startswith("text/event-stream"):
            await send({"type": "http.response.body", "body": b"data: " + bytes(gone.body) + b"\n\n"})


@dataclass
class SentAnswer:
    """The parts of an answer that have been sent."""

    send: Send
    kind: str | None = None  # of what is in it; None if it has not begun
    is_ended: bool = False

    async def send_and_note(self, message: Message) -> None:
        """Send a part of the answer, and note it."""
        if message["type"] == "http.response.start":
            self.kind = Headers(raw=message["headers"]).get("content-type", "")
        else:
            self.is_ended = not message.get("more_body")
        await self.send(message)


def around_the_proxy() -> list[Middleware]:
    """Return the middleware for Ray's proxy."""
    return [Middleware(Answering)]


# ---------------------------------------------------------------- the server's process


def serve_replicas(options: ServerOptions, keys: Keys | None, tell: Tell) -> int:
    """Serve on this machine, or on the cluster that ``RAY_ADDRESS`` names, until a signal ends it.

    Args:
        options: the options of each replica; all share the host and the port.
        keys: one of which a request needs, if there are any.
        tell: tells the user how far along it is.

    Returns:
        The exit status.

    Raises:
        UserError: they are to run on GPUs of this machine, and there are too few.
    """
    if options.device is DeviceKind.GPU and ADDRESS == "local":
        require_gpus(options.replicas)
    tell(f"Ray starts {options.replicas} replicas; each gets its model ready first")
    return asyncio.run(_live(options, keys, tell))


def require_gpus(count: int) -> None:
    """Refuse replicas on more GPUs than there are here: Ray would wait for another machine.

    Raises:
        UserError: there are fewer.
    """
    from max.driver import accelerator_count

    if (here := accelerator_count()) < count:
        raise UserError(f"each replica runs on a GPU of its own, and MAX can use {here} here; leave --device out")


async def _live(options: ServerOptions, keys: Keys | None, tell: Tell) -> int:
    """Run the driver until it ends or a second signal comes, and leave no process of its session."""
    signals = received_signals()
    with temporary_folder(SOCKET) as folder:
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        if ADDRESS == "local":
            environment |= ALONE | {"RAY_AUTH_TOKEN": secrets.token_hex()}
        how: Any = {"stdin": asyncio.subprocess.PIPE, "start_new_session": True, "env": environment}
        driver = await asyncio.create_subprocess_exec(sys.executable, "-c", DRIVER, **how)
        pipe: Any = driver.stdin
        try:
            pipe.write(pickle.dumps((options, keys)))
            ended, signaled = asyncio.create_task(driver.wait()), asyncio.create_task(signals.get())
            await asyncio.wait({ended, signaled}, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                if ADDRESS == "local" and not Path(folder, SERVING).exists():
                    return 0  # it may not even hear of it for seconds, while it imports Ray
                pipe.close()
                if status := await finish(ended, signals, options.grace, tell):
                    return status
            return ended.result()
        finally:
            await _end(driver.pid)


async def _end(session: int) -> None:
    """Kill all processes of a session; those that remove semaphores end by themselves once the others have ended."""
    limit = time.monotonic() + KILL_SECONDS
    while (processes := _processes(session)) and time.monotonic() < limit:
        for number, command in processes.items():
            if b"resource_tracker" not in command:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
        await asyncio.sleep(0.05)


def _processes(session: int) -> dict[int, bytes]:
    """Return the processes of a session that have not ended: number and command line."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, _, _, own = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(own) == session and state != "Z":
                found[int(folder.name)] = (folder / "cmdline").read_bytes()
    return found


# ---------------------------------------------------------------- the driver's process


def drive() -> None:
    """Have Ray serve until the server closes the pipe, or was killed; then drain, and end this process."""
    options, keys = pickle.load(sys.stdin.buffer)
    tell, is_ready, is_to_stop = _teller(options), threading.Event(), threading.Event()
    threading.Thread(target=_wait_for_the_server, args=[is_ready, is_to_stop], daemon=True).start()
    status = 0
    try:
        _start(options, keys, tell)
        is_ready.set()
        Path(os.environ["TMPDIR"], SERVING).touch()
        is_to_stop.wait()
        with contextlib.suppress(TimeoutError):
            asyncio.run(_drain(options.grace))
    except KeyboardInterrupt:
        pass
    except (RuntimeError, TimeoutError, RayError) as problem:
        tell((str(problem).strip() or type(problem).__name__).splitlines()[0])
        status = GIVEN_UP
    if ADDRESS != "local":  # where others may serve something, too
        serve.shutdown()
        ray.shutdown()
    os._exit(status)


def _wait_for_the_server(is_ready: threading.Event, is_to_stop: threading.Event) -> None:
    """Wait until the server closes the pipe; say that this is to stop, or end it if there is nothing to drain yet."""
    sys.stdin.buffer.read()
    is_to_stop.set()
    if is_ready.is_set():
        return
    if ADDRESS != "local":
        interrupt_main()
        time.sleep(LEAVING_SECONDS)
    os._exit(0)


def _teller(options: ServerOptions) -> Tell:
    if options.log_json:
        request_log.log_as_json()
        return request_log.LOGGER.info
    return _tell


def _tell(text: str) -> None:
    click.echo(f"serve: {text}", err=True)


def _start(options: ServerOptions, keys: Keys | None, tell: Tell) -> None:
    variables = {"PYTHONPATH": str(ROOT), OF_THE_MODEL: os.environ[OF_THE_MODEL], HANDED_ON: os.environ[HANDED_ON]}
    alone: Any = {"include_dashboard": False, "object_store_memory": OBJECTS, "_temp_dir": os.environ["TMPDIR"]}
    deployment: Any = serve.deployment(
        serve.ingress()(Replica),
        name=NAME,
        num_replicas=options.replicas,
        ray_actor_options={"num_cpus": 0, "num_gpus": int(options.device is DeviceKind.GPU)},
        max_ongoing_requests=AT_ONCE,
        health_check_period_s=LOOK_SECONDS,
        graceful_shutdown_timeout_s=LAST_SECONDS,
        max_constructor_retry_count=1,
        logging_config=QUIET,
    )
    how: Any = {"logging_level": logging.WARNING, "runtime_env": {"env_vars": variables}}
    ray.init(ADDRESS, **how, **(alone if ADDRESS == "local" else {}))
    serve.start(http_options={"host": options.host, "port": options.port}, logging_config=QUIET)
    serve.run(deployment.bind(options, keys, tell), name=NAME)
    host = f"[{options.host}]" if ":" in options.host else options.host
    tell(f"{options.replicas} replicas are ready at http://{host}:{options.port}/v1; Ctrl-C ends them")


async def _drain(grace: float) -> None:
    draining = serve.get_app_handle(NAME).broadcast("drain").results_async()
    await asyncio.wait_for(draining, grace + LAST_SECONDS)
