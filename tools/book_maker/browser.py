"""A browser that looks at the built book: for ``tests/dev/tools/test_book_browser.py`` and for pictures of pages."""

from __future__ import annotations

import functools
import http.server
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from checker.course.paths import ROOT

HTML = ROOT / "book" / "html"
WIDTHS = {1280: 900, 390: 844}  # of a window on a desk and of a phone, with their heights
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


class NoBrowser(RuntimeError):
    """Chromium is not installed; the message says how to install it."""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of what is served."""


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a browser that leaves a page before it has it all."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def served(folder: Path = HTML) -> Iterator[str]:
    """Serve a folder on this machine alone, and give the address, without a slash at its end."""
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
def chromium() -> Iterator[Browser]:
    """Start a headless Chromium.

    Raises:
        NoBrowser: there is none.
    """
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        raise NoBrowser("Chromium is needed to look at the book. On Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def open_page(browser: Browser, width: int, theme: str) -> Page:
    """Open a new window of a reader who has chosen ``theme``; mdBook keeps the choice in the browser."""
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
                    if unfolded:
                        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
                    picture = out / f"{name.stem}.{width}.{theme}.png"
                    page.screenshot(path=picture, full_page=True)
                    print(picture)
                page.context.close()
