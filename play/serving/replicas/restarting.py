"""A server that one replica keeps: started, waited for, and started again when it has ended."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Sequence

from checker.course.paths import ROOT

KEEPER = [sys.executable, "-m", "play.serving.replicas.keeper"]
START_SECONDS = 900.0  # MAX compiles the model where it has not before
PROBE_SECONDS = 2.0


class CannotStart(Exception):
    """The server ends before it is ready, or is not ready in time."""


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


class Restarting:
    """One server at a port of this machine, for as long as this object is kept.

    Args:
        command: starts the server; ``--port`` and a number are added to it.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.command = list(command)
        self.said = tempfile.TemporaryFile("w+")  # noqa: SIM115 it stays open as long as this object
        self.starting = asyncio.Lock()
        self._launch()

    def _launch(self) -> None:
        self.port = free_port()
        line = [*KEEPER, *self.command, "--port", str(self.port)]
        self.said.seek(0)
        self.said.truncate()
        self.process = subprocess.Popen(
            line,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=self.said,
            stderr=self.said,
            start_new_session=True,
        )

    @property
    def address(self) -> str:
        """Where the server is; another place after each start."""
        return f"http://127.0.0.1:{self.port}"

    async def until_ready(self) -> None:
        """Wait until the server takes requests; if it has ended, start it again first.

        Raises:
            CannotStart: it ended again before it was ready, or is not ready in time.
        """
        async with self.starting:
            limit, started_again = asyncio.get_running_loop().time() + START_SECONDS, False
            while not await self.is_ready():
                if self.process.poll() is not None:
                    if started_again:
                        self.said.seek(0)
                        raise CannotStart(
                            f"the server ended with {self.process.returncode}: {self.said.read()[-2000:]}"
                        )
                    if self.process.stdin:
                        self.process.stdin.close()
                    self._launch()
                    started_again = True
                if asyncio.get_running_loop().time() > limit:
                    raise CannotStart(f"the server is not ready after {START_SECONDS:.0f} s")
                await asyncio.sleep(0.05)

    async def is_ready(self) -> bool:
        """Return whether the server takes requests."""
        return await asyncio.to_thread(_answers, f"{self.address}/ready")

    def end(self) -> None:
        """Let the server finish what it has, and wait for that."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self._close()

    def kill(self) -> None:
        """Kill the server and all that it started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._close()

    def _close(self) -> None:
        self.said.close()
        if self.process.stdin:
            self.process.stdin.close()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=PROBE_SECONDS) as answer:
            return answer.status == 200
    except OSError:
        return False
