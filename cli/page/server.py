"""Run the server: on this machine alone, until Ctrl-C, and give the key to one browser."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import tempfile
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from html import escape
from pathlib import Path

import uvicorn

from checker.course.paths import ROOT
from checker.interrupts import exit_on_termination
from checker.session.verdict import INTERRUPTED
from cli.page import building, editor, files
from cli.page.app import Book
from cli.page.guard import Guard

PORT = 3000  # where the book is if nothing else is there: a draft that a browser keeps belongs to an address
END_SECONDS = 1  # for answers that are on their way when it ends


class CannotServe(Exception):
    """The book cannot be served; the message says why, or what to do."""


def serve(say: Callable[[str], None], *, port: int | None, open_: bool, trusted: tuple[str, ...]) -> int:
    """Build the book where needed, and serve it until Ctrl-C; return the exit status.

    Args:
        say: tells what is going on.
        port: the port; 3000 or, if that is taken, a free one where it is None.
        open_: open the browser.
        trusted: further origins under which a browser reaches this server.

    Raises:
        CannotServe: the port is taken.
        building.CannotBuild: the book has a fault.
    """
    with contextlib.closing(_listening(port)) as bound:
        html = building.build(say)
        editor.fetch(say)
        files.clear()
        port, key = bound.getsockname()[1], secrets.token_urlsafe(32)
        link = f"http://127.0.0.1:{port}/#key={key}"
        app = Guard(Book(html).app(), port, key, (*trusted, *forwarded(port, os.environ)))
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="on",
            timeout_graceful_shutdown=END_SECONDS,
        )
        exit_on_termination()
        with _redirecting(link) as file:
            say(f"the book is at {link}")
            say("the link has a key in it: who has it can edit and run your steps. Ctrl-C ends this.")
            if open_ and not webbrowser.open(file.as_uri()):
                say("no browser could be opened; open the link yourself")
            with contextlib.suppress(KeyboardInterrupt):
                uvicorn.Server(config).run(sockets=[bound])
    return INTERRUPTED


def forwarded(port: int, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the address that GitHub's Codespaces gives a port of this machine; nothing elsewhere."""
    name, domain = environment.get("CODESPACE_NAME"), environment.get("GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN")
    return (f"https://{name}-{port}.{domain}",) if name and domain else ()


def _listening(port: int | None) -> socket.socket:
    """Return a socket on this machine's own address.

    Raises:
        CannotServe: the port is taken.
    """
    for one in (PORT, 0) if port is None else (port,):
        bound = socket.socket()
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(("127.0.0.1", one))
        except OSError as error:
            bound.close()
            why = error.strerror or error
        else:
            bound.listen(128)
            return bound
    raise CannotServe(f"port {port} cannot be had ({why}); another one, or none, may be named: --port 3001")


@contextlib.contextmanager
def _redirecting(link: str) -> Iterator[Path]:
    """Make a file that leads a browser to a link, for this user alone: a command line is seen by everyone."""
    (ROOT / ".course").mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="open-", dir=ROOT / ".course"))  # nobody else may enter it
    try:
        file = folder / "book.html"
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
            opened.write(f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={escape(link)}">\n')
            opened.write(f'<title>The book</title><a href="{escape(link)}">Open the book</a>\n')
        yield file
    finally:
        shutil.rmtree(folder, ignore_errors=True)
