"""What the tests of the tool share."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from checker import interrupts
from checker.course.paths import ROOT
from tools.course_copy import Course

interrupts.restore()  # what the tests start, and send signals to, is to begin as in a terminal


NEED_BROWSER = "COURSE_TESTS_NEED_BROWSER"  # not empty: a test that looks at pages fails where it would be left out
BROWSER = pytest.StashKey[str]()
NO_BROWSER = pytest.StashKey[str]()
LEFT_OUT = "left out for want of a browser"  # of a report: why
ONE_AT_A_TIME = Path(tempfile.gettempdir()) / "course-tests-get-a-browser"


def looks_at_pages(test: pytest.Item) -> bool:
    return "browser_path" in getattr(test, "fixturenames", ())


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave out what looks at pages where time matters."""
    if looks_at_pages(item):
        item.add_marker("slow")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Find a browser if a test needs one, or get one: now, for what is told now is seen."""
    if session.config.option.collectonly or not any(map(looks_at_pages, session.items)):
        return
    from tools.book_maker import browser

    captured = session.config.pluginmanager.getplugin("capturemanager")
    with captured.global_and_fixture_disabled(), ONE_AT_A_TIME.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            session.config.stash[BROWSER] = browser.get(lambda what: print(what, file=sys.stderr))
        except browser.NoBrowser as error:
            session.config.stash[NO_BROWSER] = str(error)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without a browser, do not even build what a test would look at."""
    why = item.config.stash.get(NO_BROWSER, None)
    if why and looks_at_pages(item):
        if os.environ.get(NEED_BROWSER):
            pytest.fail(f"{why} ({NEED_BROWSER} is set, so this test is not left out.)", pytrace=False)
        item.user_properties.append((LEFT_OUT, why))
        pytest.skip(why)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end what the tests did not look at."""
    skipped = [dict(report.user_properties) for report in terminalreporter.stats.get("skipped", ())]
    for why, count in Counter(properties[LEFT_OUT] for properties in skipped if LEFT_OUT in properties).items():
        terminalreporter.write_line(f"{count} tests that look at pages were left out: {why}", yellow=True)


@pytest.fixture(autouse=True)
def _handler_of_ctrl_c() -> Iterator[None]:
    """Refuse a test that leaves another handler of Ctrl-C: with Python's own, MAX takes a hundred times as long."""
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before or before is signal.default_int_handler


@pytest.fixture(scope="session")
def browser_path(pytestconfig: pytest.Config) -> str:
    """Where the browser is; a test that asks for it is left out where there is none (see above)."""
    return pytestconfig.stash[BROWSER]


@pytest.fixture(scope="module")  # not "session": where Playwright's event loop runs, MAX cannot run its own
def browser(browser_path: str) -> Iterator[object]:
    """The one browser of a module."""
    from tools.book_maker.browser import chromium

    with chromium(browser_path) as started:
        yield started


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


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """The folder of the book as mdBook builds it now, once for all workers; a fault in a chapter, or a warning, fails."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if hasattr(pytestconfig, "workerinput") else folder) / "book"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            made = tmp_path_factory.mktemp("made") / "book"
            build_book(made)
            made.rename(folder)
    return folder


REPOSITORY = "https://github.com/someone/course"  # where the book of these tests is published from


def published() -> dict[str, str]:
    """Return what the workflow that publishes the book tells mdBook: where the repository is."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "book.yml").read_text())
    (told,) = [step["env"] for step in workflow["jobs"]["build"]["steps"] if step.get("run") == "./run book-build"]
    address = "${{ github.server_url }}/${{ github.repository }}"
    return {name: value.replace(address, REPOSITORY) for name, value in told.items()}


def build_book(folder: Path) -> None:
    """Have mdBook build the book in a folder, as it is published."""
    tools = Path(sys.executable).parent
    environment = os.environ | published() | {"PATH": os.pathsep.join([str(tools), os.environ.get("PATH", "")])}
    command = [shutil.which("mdbook", path=environment["PATH"]) or "mdbook", "build", "book", "--dest-dir", str(folder)]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    said = run.stdout + run.stderr
    assert run.returncode == 0, said
    assert "WARN" not in said, said
