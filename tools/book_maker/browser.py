"""Look at the built book in a browser: for ``tests/dev/tools/test_book_browser.py`` and for pictures of pages."""

from __future__ import annotations

import functools
import http.server
import itertools
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from checker.course.paths import ROOT

HTML = ROOT / "book" / "html"
WIDTHS = {390: 844, 1280: 900}  # of a phone and of a desktop window, with their heights
THEMES = ("light", "navy")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "microsoft-edge",
    "microsoft-edge-stable",
)
APPLICATIONS = [  # of macOS
    folder / f"{name}.app" / "Contents" / "MacOS" / name
    for folder in (Path("/Applications"), Path.home() / "Applications")
    for name in ("Chromium", "Google Chrome", "Microsoft Edge")
]
#: Says where Playwright's own download is, or would be; in a process of its own, since it needs an event loop.
PLAYWRIGHTS_OWN = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
"""
DOWNLOAD = ("-m", "playwright", "install", "--no-shell", "chromium")
#: How a package manager installs a browser without asking.
MANAGERS = {
    "apt-get": ("update", "install --yes --no-install-recommends fonts-liberation chromium"),
    "dnf": ("install --assumeyes chromium",),
    "zypper": ("--non-interactive install chromium",),
    "pacman": ("--sync --noconfirm chromium",),
    "brew": ("install --cask google-chrome",),
}
FOR_ITS_USER = ("brew",)  # which refuses to be run by root
INSTALL_SECONDS = 600
START_SECONDS = 60
ADVICE = (
    "no Chromium, Chrome or Edge was found, and none could be installed. Install one (on Debian "
    "`apt-get install chromium`, on macOS `brew install --cask google-chrome`), then run `./run test` again."
)


class NoBrowser(RuntimeError):
    """There is no browser; the message says how to install one."""


def find() -> str | None:
    """Find a browser that starts: Chromium, Chrome or Edge, else what Playwright has downloaded."""
    on_path = filter(None, map(shutil.which, NAMES))
    return next(filter(_starts, itertools.chain(on_path, map(str, APPLICATIONS), _playwrights_own())), None)


def _starts(path: str) -> bool:
    """Return whether a browser starts: it may lack libraries, or be a script that only says what to install."""
    command = [path, "--version"]
    with suppress(OSError, subprocess.TimeoutExpired):
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=START_SECONDS, check=False)
        return run.returncode == 0
    return False


def _playwrights_own() -> Iterator[str]:
    with suppress(subprocess.TimeoutExpired):
        command = [sys.executable, "-c", PLAYWRIGHTS_OWN]
        run = subprocess.run(command, capture_output=True, text=True, timeout=START_SECONDS, check=False)
        yield from run.stdout.split("\n")[:1]


def get(tell: Callable[[str], object]) -> str:
    """Find a browser, or install one without asking anybody; ``tell`` what is installed, which takes minutes.

    Raises:
        NoBrowser: there is none, and none can be installed.
    """
    if path := find():
        return path
    for name, commands in _ways():
        tell(f"No Chromium, Chrome or Edge was found; installing one with {name}.")
        for command in commands:
            _carry_out(command)
        if path := find():
            return path
    raise NoBrowser(ADVICE)


def _ways() -> Iterator[tuple[str, list[list[str]]]]:
    """Yield what may install a browser, and with which commands; Playwright comes first, since it needs no rights."""
    yield "Playwright", [[sys.executable, *DOWNLOAD]]
    for name, lines in MANAGERS.items():
        before = _rights(name) if shutil.which(name) else None
        if before is not None:
            yield name, [[*before, name, *line.split()] for line in lines]


def _rights(manager: str) -> list[str] | None:
    """Return what an installing command must begin with, or None if it would have to ask for a password."""
    root = os.geteuid() == 0
    if manager in FOR_ITS_USER:
        return None if root else []
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive"]
    if root:
        return quiet
    sudo = ["sudo", "-n"]
    if not shutil.which("sudo") or subprocess.run([*sudo, "true"], capture_output=True, check=False).returncode:
        return None
    return [*sudo, "timeout", str(INSTALL_SECONDS), *quiet]  # we may not end what another user runs


def _carry_out(command: list[str]) -> None:
    """Run a command silently, for a limited time; the caller looks again to see whether it has done anything."""
    environment = os.environ | {"NONINTERACTIVE": "1", "PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT": "10000"}
    no = subprocess.DEVNULL
    with (
        suppress(OSError, subprocess.TimeoutExpired),
        subprocess.Popen(command, stdin=no, stdout=no, stderr=no, env=environment, start_new_session=True) as process,
    ):
        try:
            process.wait(timeout=INSTALL_SECONDS)
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGTERM)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Log nothing that is served."""


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing about a browser that leaves a page before it has loaded everything."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def served(folder: Path = HTML) -> Iterator[str]:
    """Serve a folder on this machine alone, and yield the address, without a slash at its end."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def chromium(path: str | None = None) -> Iterator[Browser]:
    """Start a headless browser: the one at ``path``, or else one that is found.

    Raises:
        NoBrowser: there is none.
    """
    path = path or find()
    if path is None:
        raise NoBrowser(ADVICE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def open_page(browser: Browser, width: int, theme: str) -> Page:
    """Open a new window for a reader who has chosen ``theme``; mdBook keeps the choice in the browser."""
    context = browser.new_context(viewport={"width": width, "height": WIDTHS[width]})
    context.add_init_script(f"localStorage.setItem('mdbook-theme', '{theme}')")
    return context.new_page()


def take_pictures(out: Path, chapters: list[str], unfolded: bool) -> None:
    """Write a picture of each chapter's page at two widths in two themes."""
    out.mkdir(parents=True, exist_ok=True)
    with served() as address, chromium() as browser:
        for width in WIDTHS:
            for theme in THEMES:
                page = open_page(browser, width, theme)
                for name in map(Path, chapters):
                    page.goto(f"{address}/{name.with_suffix('.html')}")
                    page.evaluate("document.fonts.ready.then(() => null)")
                    if unfolded:
                        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
                    picture = out / f"{name.stem}.{width}.{theme}.png"
                    page.screenshot(path=picture, full_page=True)
                    print(picture)
                page.context.close()
