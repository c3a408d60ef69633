"""The book, served from a copy of the course as ``./run book`` does it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from checker.course.paths import ROOT
from checker.course.steps import find_step
from tools.course_copy import Course


@dataclass
class Site:
    """A served course: where, by which key, and from which folder."""

    course: Course
    server: subprocess.Popen
    port: int
    key: str

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def url(self, task):
        return f"{self.address}/{find_step(task).name}.html#key={self.key}"

    def path(self, task):
        return self.course.root / "steps" / find_step(task).learner_file.name

    def ask(self, *arguments, **options):
        """Return the status and the answer of a request."""
        return self.ask_all(*arguments, **options)[:2]

    def ask_all(self, path, body=None, method=None, headers=None):
        """Return the status, answer and headers for a request, with the key unless its own headers have another."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"{self.address}{path}", data, method=method or ("POST" if data else "GET"))
        for name, value in {"Authorization": f"Bearer {self.key}", **(headers or {})}.items():
            asked.add_header(name, value)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return answer.status, answer.read().decode(), answer.headers
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode(), error.headers

    def get(self, path, body=None):
        """Return the object that answers a request which succeeds."""
        status, answer = self.ask(path, body)
        assert status == 200, answer
        return json.loads(answer)

    def check(self, step, body=None):
        """Return the records of a check."""
        status, answer = self.ask(f"/api/steps/{step}/check", body or {})
        assert status == 200, answer
        return [json.loads(line) for line in answer.splitlines()]


def make_course(root: Path, book: Path) -> Course:
    """Return a copy of the course with the book that is built in ``book``."""
    course = Course(root)
    (root / "book").mkdir()
    for part in ("src", "theme", "book.toml"):
        (root / "book" / part).symlink_to(ROOT / "book" / part)
    shutil.copytree(book, root / "book" / "html")
    (root / "book" / "html" / "index.html").touch()
    return course


@contextlib.contextmanager
def serve(course: Course, *arguments: str, environment: dict[str, str] | None = None):
    """Serve the book of a course, and end it as Ctrl-C does."""
    server = subprocess.Popen(
        [sys.executable, "-m", "cli", "book", "--no-open", *arguments],
        cwd=course.root,
        env=os.environ | {"PYTHONPATH": str(course.root)} | (environment or {}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert server.stderr is not None
    try:
        printed, link = [], None
        while not link:
            printed.append(server.stderr.readline())
            assert printed[-1], "".join(printed)
            link = re.search(r"http://127\.0\.0\.1:(\d+)/#key=(\S+)", printed[-1])
        yield Site(course, server, int(link[1]), link[2])
    finally:
        for number, seconds in ((signal.SIGINT, 10), (signal.SIGKILL, None)):
            if server.poll() is None:
                os.killpg(server.pid, number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    server.wait(seconds)
        server.stderr.close()
