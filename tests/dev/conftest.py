"""What the tests of the tool share."""

import fcntl
import os
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from checker.files import ROOT
from tools.course_copy import Course, python

signal.signal(signal.SIGINT, signal.default_int_handler)  # what the tests start begins as in a terminal

NEED_BROWSER = "COURSE_TESTS_NEED_BROWSER"  # not empty: a test of a page fails without a browser


@pytest.fixture(scope="module")  # not "session": where Playwright's event loop runs, MAX cannot run its own
def browser(request: pytest.FixtureRequest) -> Iterator[object]:
    """The one browser of a module, Chromium unless its tests name another; without it, they are skipped."""
    from tests.dev.helpers.browsers import NoBrowser, chromium

    start = getattr(request, "param", chromium)
    try:
        with start() as started:
            yield started
    except NoBrowser as error:
        if start is chromium and os.environ.get(NEED_BROWSER):
            pytest.fail(f"{error} ({NEED_BROWSER}=1 demands one)")
        pytest.skip(str(error))


@pytest.fixture(autouse=True)
def nothing_left_behind() -> None:
    """Undo what tests leave: in the environment, behind ``os.environ``, MAX's compiler names a Python for others,
    and asyncio puts back a handler of Ctrl-C with which MAX's operations take minutes.
    """
    for name in {"PYTHONEXECUTABLE", "PYTHONPATH"} - os.environ.keys():
        os.unsetenv(name)
    if hooks := sys.modules.get("checker.max_adapter.hooks"):
        hooks.take_interrupts()


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A copy of the course with untouched skeletons."""
    return Course(tmp_path / "course")


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file for what strace writes, without which a test is skipped; telemetry is not turned off but by the course."""
    if not shutil.which("strace"):
        pytest.skip("strace, which sees connections, is not installed")
    monkeypatch.delenv("MODULAR_TELEMETRY_ENABLED")  # which the tests have set as the course does
    return tmp_path / "calls"


@pytest.fixture(scope="session")
def smollm2_file() -> Path:
    """The file with SmolLM2, fetched once; where it cannot be, the tests that need it are skipped."""
    from play.smollm2 import smollm2

    try:
        return smollm2(print)
    except ValueError as error:
        pytest.skip(str(error))


REPOSITORY = "https://github.com/someone/course"  # where the book of these tests is published from


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """The folder of the book as it is published, built once for all workers; a warning of mdBook's fails."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if hasattr(pytestconfig, "workerinput") else folder) / "book"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            unfinished = tmp_path_factory.mktemp("unfinished") / "book"
            command = (ROOT, "-m", "cli.start.tasks", "book-build", "--dest-dir", unfinished)
            run = python(*command, status=0, timeout=1800, **published())
            assert not re.search(r"\bWARN\b", run.stdout + run.stderr), run.stderr
            unfinished.rename(folder)
    return folder


def published() -> dict[str, str]:
    """Return the variables with which the publishing workflow builds the book, in :data:`REPOSITORY`."""
    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "book.yml").read_text())["jobs"]["build"]["steps"]
    (variables,) = [step["env"] for step in steps if step.get("run") == "./run book-build"]
    address = "${{ github.server_url }}/${{ github.repository }}"
    return {name: value.replace(address, REPOSITORY) for name, value in variables.items()}
