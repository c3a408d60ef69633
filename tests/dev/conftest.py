"""What the tests of the tool share."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from checker import interrupts
from checker.course.paths import ROOT
from tools.course_copy import Course

interrupts.restore()  # what the tests start, and send signals to, is to begin as in a terminal


NEED_BROWSER = "COURSE_TESTS_NEED_BROWSER"  # not empty: a test of a page fails without a browser


@pytest.fixture(autouse=True)
def _handler_of_ctrl_c() -> Iterator[None]:
    """Refuse a test that leaves another handler of Ctrl-C: with Python's own, MAX takes a hundred times as long."""
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before or before is signal.default_int_handler


@pytest.fixture(scope="module")  # not "session": where Playwright's event loop runs, MAX cannot run its own
def browser() -> Iterator[object]:
    """The one browser of a module; without one, its tests are skipped."""
    from tools.book_maker.browser import NoBrowser, chromium

    try:
        with chromium() as started:
            yield started
    except NoBrowser as error:
        (pytest.fail if os.environ.get(NEED_BROWSER) else pytest.skip)(f"{error} ({NEED_BROWSER}=1 demands one)")


@pytest.fixture(autouse=True)
def no_python_but_ours() -> None:
    """Take out of the environment what MAX's compiler has put there, which ``os.environ`` does not show.

    It names another Python, and whatever a test starts would take that for its own, with its packages.
    """
    for name in ("PYTHONEXECUTABLE", "PYTHONPATH"):
        if name not in os.environ:
            os.unsetenv(name)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A copy of the course with untouched skeletons."""
    return Course(tmp_path / "course")


REPOSITORY = "https://github.com/someone/course"  # where the book of these tests is published from


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """The folder of the book as it is published, built once for all workers; a warning of mdBook's fails."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if hasattr(pytestconfig, "workerinput") else folder) / "book"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            build_book(unfinished := tmp_path_factory.mktemp("unfinished") / "book")
            unfinished.rename(folder)
    return folder


def build_book(folder: Path) -> None:
    """Have mdBook build the book in a folder, told by the publishing workflow's variables where the repository is."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "book.yml").read_text())
    (variables,) = [step["env"] for step in workflow["jobs"]["build"]["steps"] if step.get("run") == "./run book-build"]
    address = "${{ github.server_url }}/${{ github.repository }}"
    environment = os.environ | {name: value.replace(address, REPOSITORY) for name, value in variables.items()}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = [shutil.which("mdbook", path=environment["PATH"]) or "mdbook", "build", "book", "--dest-dir", str(folder)]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "WARN" not in run.stdout + run.stderr
