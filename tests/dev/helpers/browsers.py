"""A browser that looks at pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from playwright.sync_api import Browser, Error, sync_playwright

ADVICE = "no Chromium, Chrome or Edge was found; `apt-get install chromium` or `python -m playwright install chromium`"


class NoBrowser(Exception):
    """No browser starts; the message says how to install one."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a headless browser: Chromium on the PATH, Chrome, Edge, or Playwright's own.

    Raises:
        NoBrowser: none of them starts.
    """
    on_path = [path for path in map(shutil.which, ("chromium", "chromium-browser")) if path]
    with sync_playwright() as playwright:
        for path, channel in [(path, None) for path in on_path] + [(None, "chrome"), (None, "msedge"), (None, None)]:
            with suppress(Error):
                arguments = ["--no-sandbox", "--disable-gpu"]
                browser = playwright.chromium.launch(executable_path=path, channel=channel, args=arguments)
                break
        else:
            raise NoBrowser(ADVICE)
        yield browser
        browser.close()
