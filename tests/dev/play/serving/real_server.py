"""``./run serve`` in processes of its own, asked by OpenAI's client, for tests that need a model."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress

import httpx
import psutil
import pytest

from checker.files import ROOT

openai = pytest.importorskip("openai")

START_SECONDS = 900  # MAX compiles the model and its sampler where it has not before
END_SECONDS = 120  # a text of 250 tokens, beside other tests, and the end of the process that runs the model
MARK = "GPT2_TEST_SERVER"  # in the environment of a server and of all that comes of it
MODEL, KEY = "moby-dick", "a-key-of-nobody-else"
WITH_KEY = {"authorization": f"Bearer {KEY}"}
SERVE = [sys.executable, "-m", "cli", "serve"]


class Server:
    """``./run serve`` in a process group of its own; ready when this is made, or as far as ``until`` says."""

    def __init__(self, *arguments, command=SERVE, key="none", until=lambda server: server.answers(), **variables):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        self.address = f"http://127.0.0.1:{port}"
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - a pipe that nobody reads would fill up
        how = dict(cwd=ROOT, stdout=self.log, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.mark = (MARK, port)
        environment = os.environ | variables | dict([self.mark])  # else a child gets what MAX sets unseen by Python
        self.process = subprocess.Popen([*command, "--port", port, *arguments], env=environment, **how)
        self.client = openai.OpenAI(base_url=f"{self.address}/v1", api_key=key, max_retries=0)
        try:
            self.wait_until(lambda: until(self) or self.process.poll() is not None)
            assert self.process.poll() is None, self.output()
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.group_lives():
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.client.close()
        self.log.close()

    def answers(self):
        with suppress(httpx.HTTPError):
            return self.get("/ready").status_code == 200
        return False

    def output(self):
        """Everything that it has printed so far."""
        return os.pread(self.log.fileno(), 1 << 24, 0).decode()

    def lines(self):
        """The log so far, if it is JSON."""
        return [json.loads(line) for line in self.output().splitlines() if line.startswith("{")]

    def get(self, path):
        return httpx.get(self.address + path, timeout=10)

    def figures(self):
        """Everything that ``/metrics`` has, by name and labels."""
        lines = [line.rpartition(" ") for line in self.get("/metrics").text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in lines}

    def complete(self, prompt, **options):
        options = {"max_tokens": 16, "temperature": 0} | options
        return self.client.completions.create(model=MODEL, prompt=prompt, **options)

    def text(self, prompt, **options):
        return self.complete(prompt, **options).choices[0].text

    def stream(self, prompt="Call me", tokens=250):
        """Begin a stream, and return the rest of it."""
        stream = iter(self.complete(prompt, max_tokens=tokens, stream=True))
        assert next(stream).choices
        return stream

    def wait_until(self, condition, seconds=START_SECONDS):
        limit = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < limit, self.output()
            time.sleep(0.1)

    def status(self):
        """The exit status, once all processes that it has started have ended, too."""
        self.process.wait(timeout=END_SECONDS)
        self.wait_until(lambda: not self.group_lives(), END_SECONDS)
        return self.process.returncode

    def group_lives(self):
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, 0)
            return True
        return False

    def processes(self):
        """All processes that have come of it, whosever children they are now."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):  # it has just ended
                found += [process] if self.mark in process.environ().items() else []
        return found

    def worker(self):
        """The process that runs the model, if it has begun."""
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.Error):  # it has just ended
                if "spawn_main" in " ".join(child.cmdline()):
                    return child
        return None
