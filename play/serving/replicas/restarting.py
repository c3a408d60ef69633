"""A server that one replica keeps: started, looked after, and started again when it has ended or does not answer."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Sequence

from checker.course.paths import ROOT

KEEPER = [sys.executable, "-m", "play.serving.replicas.keeper"]
START_SECONDS = 900.0  # MAX compiles the model where it has not before
NOT_READY_SECONDS = 120.0  # in which a server that was ready finishes what it has, or starts its model again
SILENT_SECONDS = 10.0  # without any answer; a server that is only busy or not ready answers
PROBE_SECONDS = 2.0
LOOK_SECONDS = 0.1  # between two looks at a server
LAST_LINES = 50  # of what the server says, for the error if it cannot be started


class CannotStart(Exception):
    """The server ends before it is ready, or is not ready in time."""


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


class Restarting:
    """One server at a port of this machine, for as long as this object is kept. Make it while an event loop runs.

    What the server says goes on to standard error, line by line.

    Args:
        command: starts the server; ``--port`` and a number are added to it.
        prefix: of each line that the server says.
    """

    def __init__(self, command: Sequence[str], prefix: str = "") -> None:
        self.command, self.prefix = list(command), prefix
        self.draining = False
        self.was_ready: subprocess.Popen[str] | None = None  # the last process that somebody saw ready
        self.looking = asyncio.Lock()
        self._launch()
        self.keeping = asyncio.create_task(self._keep())

    def _launch(self) -> None:
        self.port = free_port()
        self.process = subprocess.Popen(
            [*KEEPER, *self.command, "--port", str(self.port)],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self.said = deque[str](maxlen=LAST_LINES)
        self.passing_on = threading.Thread(target=_pass_on, args=(self.process, self.said, self.prefix), daemon=True)
        self.passing_on.start()

    @property
    def address(self) -> str:
        """Where the server is; another place after each start."""
        return f"http://127.0.0.1:{self.port}"

    async def is_ready(self) -> bool:
        """Return whether the server takes requests."""
        process = self.process
        if await asyncio.to_thread(_status, f"{self.address}/ready") != 200:
            return False
        self.was_ready = process
        return True

    def check(self) -> None:
        """Say at once whether the server can be used, now or once it has started again.

        Raises:
            CannotStart: it cannot be started.
        """
        if self.keeping.done() and not self.draining:
            self.keeping.result()

    async def until_ready(self) -> None:
        """Wait until the server takes requests. If it has ended, it is being started again.

        Raises:
            CannotStart: it cannot be started, or has been asked to end.
        """
        async with self.looking:  # those that wait look one after the other
            while not await self.is_ready():
                self.check()
                if self.draining:
                    raise CannotStart("the server has been asked to end")
                await asyncio.sleep(LOOK_SECONDS)

    async def _keep(self) -> None:
        """Look after the server until it is asked to end.

        Raises:
            CannotStart: it ended before it was ready, or is not ready in time.
        """
        while True:
            await self._get_ready()
            why = await self._watch()
            if self.draining:
                return
            print(f"{self.prefix}serve: the server {why}; it is started again", file=sys.stderr, flush=True)
            self._end_all()
            self._launch()

    async def _get_ready(self) -> None:
        limit = asyncio.get_running_loop().time() + START_SECONDS
        while not (self.draining or self.was_ready is self.process or await self.is_ready()):
            if (code := self.process.poll()) is not None:
                self.passing_on.join(PROBE_SECONDS)
                raise CannotStart(f"the server ended with {code}: {''.join(self.said)[-2000:]}")
            if asyncio.get_running_loop().time() > limit:
                raise CannotStart(f"the server is not ready after {START_SECONDS:.0f} s")
            await asyncio.sleep(LOOK_SECONDS)

    async def _watch(self) -> str:
        """Return why a server that was ready has to be started again, once it has to."""
        ready = answered = asyncio.get_running_loop().time()
        while (code := self.process.poll()) is None:
            status = await asyncio.to_thread(_status, f"{self.address}/ready")
            now = asyncio.get_running_loop().time()
            ready = now if status == 200 else ready
            answered = now if status else answered
            if self.process.poll() is None and now - answered > SILENT_SECONDS:
                return f"has not answered for {now - answered:.0f} s"
            if not self.draining and now - ready > NOT_READY_SECONDS:
                return f"has taken no requests for {now - ready:.0f} s"
            await asyncio.sleep(LOOK_SECONDS)
        return f"ended with {code}"

    async def drain(self) -> None:
        """Let the server finish what it has, start it no more, and wait until it has ended."""
        self.draining = True
        self.process.send_signal(signal.SIGTERM)
        while self.process.poll() is None:
            await asyncio.sleep(LOOK_SECONDS)

    def end(self) -> None:
        """Let the server finish what it has, and wait for that."""
        self.draining = True
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.kill()

    def kill(self) -> None:
        """Kill the server and all that it started."""
        self.keeping.cancel()
        self._end_all()

    def _end_all(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.passing_on.join(PROBE_SECONDS)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()


def _pass_on(process: subprocess.Popen[str], said: deque[str], prefix: str) -> None:
    """Write what a server says to standard error, until it has ended, and remember the last lines."""
    for line in process.stdout or ():
        said.append(line)
        sys.stderr.write(prefix + line)
        sys.stderr.flush()


def _status(address: str) -> int:
    """Return the status of an answer, 0 if there is none in time."""
    try:
        with urllib.request.urlopen(address, timeout=PROBE_SECONDS) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except OSError:
        return 0
