"""Firefox, as Playwright drives it by WebDriver BiDi: for the tests of the page, by night.

Playwright expects a newer Firefox than the ESR. So it starts this file in place of Firefox. It passes on what the two
say, but for what the ESR does not know yet and no test needs: that it answers as if it was done.
"""

import asyncio
import contextlib
import json
import re
import shutil
import sys
import tempfile
from asyncio.subprocess import PIPE
from pathlib import Path

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

NOT_KNOWN = ("emulation.setMediaFeaturesOverride",)  # which colors a page prefers; the tests choose mdBook's theme
ADVICE = "no Firefox was found; `apt-get install firefox-esr`"


@contextlib.contextmanager
def firefox():
    """Start Firefox without a window.

    Raises:
        NoBrowser: there is none.
    """
    from playwright.sync_api import sync_playwright

    from tests.dev.helpers.browsers import NoBrowser

    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if not program:
        raise NoBrowser(ADVICE)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        starter = Path(folder, "firefox")
        starter.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" "{program}" "$@"\n')
        starter.chmod(0o700)
        browser = playwright.firefox.launch(channel="moz-firefox", executable_path=starter)
        yield browser
        browser.close()


async def main(program: str, *arguments: str) -> None:
    """Start Firefox, and say in its words where to reach it, which is here."""
    firefox = await asyncio.create_subprocess_exec(program, *arguments, stderr=PIPE)
    assert firefox.stderr
    address = None
    while not address:
        line = (await firefox.stderr.readline()).decode()
        assert line, "Firefox has ended"
        address = re.search(r"BiDi listening on (ws://\S+)", line)

    async def pass_on(browser, playwright):
        with contextlib.suppress(ConnectionClosed):
            async for message in browser:
                await playwright.send(message)

    async def between(playwright):
        async with connect(f"{address[1]}{playwright.request.path}", max_size=None) as browser:
            answers = asyncio.create_task(pass_on(browser, playwright))
            async for message in playwright:
                command = json.loads(message)
                if command["method"] in NOT_KNOWN:
                    await playwright.send(json.dumps({"type": "success", "id": command["id"], "result": {}}))
                else:
                    await browser.send(message)
            answers.cancel()

    async with serve(between, "127.0.0.1", 0, max_size=None) as server:
        port = server.sockets[0].getsockname()[1]
        print(f"WebDriver BiDi listening on ws://127.0.0.1:{port}", file=sys.stderr, flush=True)
        await firefox.wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
