"""The book, served from a copy of the course as ``./run book`` does it."""

import contextlib
import json
import os
import re
import signal
import urllib.error
import urllib.request
from dataclasses import dataclass
from subprocess import Popen

from checker.course.steps import find_step
from tests.dev.helpers.terminal import started
from tools.course_copy import Course


@dataclass
class Site:
    """A served course: where, by which key, and from which folder."""

    course: Course
    server: Popen
    port: int
    key: str

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def url(self, task):
        return f"{self.address}/{find_step(task).name}.html#key={self.key}"

    def ask(self, path, body=None, method=None, headers=None):
        """Return the status, text and headers that answer a request, with the key unless its own headers have one."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"{self.address}{path}", data, method=method or ("POST" if data else "GET"))
        for name, value in {"Authorization": f"Bearer {self.key}", **(headers or {})}.items():
            asked.add_header(name, value)
        try:
            answer = urllib.request.urlopen(asked, timeout=60)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return answer.status, answer.read().decode(), answer.headers

    def get(self, path, body=None):
        """Return the objects, one in each line, that answer a request which succeeds."""
        status, answer, _ = self.ask(path, body)
        assert status == 200, answer
        return [json.loads(line) for line in answer.splitlines()]

    def check(self, step):
        """Return the records of a check."""
        return self.get(f"/api/steps/{step}/check", {})


@contextlib.contextmanager
def serve(course, *arguments, by=(), **environment):
    """Serve the book of a course, and end it as Ctrl-C does; ``by`` another program, if that is named."""
    with started(course.root, "-m", "cli", "book", "--no-open", *arguments, by=by, **environment) as server:
        link, printed = None, []
        while not link:
            printed.append(server.stderr.readline())
            assert printed[-1], "".join(printed)
            link = re.search(r"http://127\.0\.0\.1:(\d+)/#key=(\S+)", printed[-1])
        yield Site(course, server, int(link[1]), link[2])
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGINT)
            server.wait(10)
