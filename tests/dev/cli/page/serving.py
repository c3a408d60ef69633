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
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from checker.course.paths import ROOT
from cli.page import editor
from tools.course_copy import Course

START_SECONDS = 60
#: Says in the copy that its book is built from what is there.
STAMP = "from cli.page import building; building.BUILT_FROM.write_text(building.state_of_sources())"


@dataclass
class Site:
    """A served course: where, by which key, and from which folder."""

    course: Course
    server: subprocess.Popen
    port: int
    key: str
    link: str
    said: list[str] = field(default_factory=list)

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def path(self, task):
        name = f"step_{task[1:]}" if task.startswith("s") else f"warmup_{task[1:]}"
        return self.course.root / "steps" / f"{name}.py"

    def ask(self, path, body=None, method=None, headers=None, key=None):
        """Return the status and the answer of a request, with the key unless another is given."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"{self.address}{path}", data, method=method or ("POST" if data else "GET"))
        asked.add_header("Authorization", f"Bearer {self.key if key is None else key}")
        for name, value in (headers or {}).items():
            asked.add_header(name, value)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def get(self, path):
        status, said = self.ask(path)
        assert status == 200, said
        return json.loads(said)

    def check(self, step, body=None):
        """Return the records of a check."""
        status, said = self.ask(f"/api/steps/{step}/check", body or {}, "POST")
        assert status == 200, said
        return [json.loads(line) for line in said.splitlines()]


def make_course(root: Path, book: Path) -> Course:
    """Return a copy of the course with the book that is built in ``book``, and with the editor."""
    course = Course(root)
    (root / "book").mkdir()
    for part in ("src", "theme", "book.toml"):
        (root / "book" / part).symlink_to(ROOT / "book" / part)
    shutil.copytree(book, root / "book" / "html")
    editor.fetch(lambda what: None)
    if editor.folder().is_dir():
        shutil.copytree(editor.folder(), root / ".course" / "editor" / editor.folder().name)
    done = course.python("-c", STAMP)
    assert done.returncode == 0, done.stderr
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
    said, found = [], None
    assert server.stderr is not None
    try:
        for line in server.stderr:
            said.append(line)
            if found := re.search(r"(http://127\.0\.0\.1:(\d+)/)#key=(\S+)", line):
                break
        assert found, "".join(said)
        site = Site(course, server, int(found[2]), found[3], f"{found[1]}#key={found[3]}", said)
        wait_until_answers(site)
        yield site
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(10)
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
        server.stderr.close()


def wait_until_answers(site: Site) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if site.ask("/api/standings")[0] == 200:
                return
        time.sleep(0.05)
    raise AssertionError("the server does not answer")
