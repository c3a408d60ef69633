"""Build the book, serve it on this machine alone until Ctrl-C, and give the key to one browser."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn

from checker.errors import INTERRUPTED, UserError, exit_on_termination
from checker.files import ROOT, saved_at
from cli.page.app import Book
from cli.shared.command_line import writing

LOOPBACK = "127.0.0.1"  # this machine's own address
PORT = 3000  # where the book is if the port is free: a browser keeps drafts by address
END_SECONDS = 1  # for answers that are on their way when the server ends
HTML = ROOT / "book" / "html"
#: The sources of the book: the chapters, the files that they quote, and the programs that compute and draw for them.
CHAPTERS = ("book/src", "book/theme", "book/book.toml")
SOURCES = (*CHAPTERS, "solutions", "tests", "models", "cli", "checker", "play", "tools")
NO_SOURCE = ROOT / "tests" / "dev"


def serve(tell: Callable[[str], None], *, port: int | None, open_: bool, trusted: tuple[str, ...]) -> int:
    """Build the book if it is out of date, and serve it until Ctrl-C; return the exit status.

    Args:
        tell: prints a message on standard error.
        port: the port; None is 3000 or, if that is taken, a free one.
        open_: open the browser.
        trusted: further origins under which a browser reaches this server.

    Raises:
        UserError: the port is taken, or the book cannot be built.
    """
    with contextlib.closing(_open_socket(port)) as bound:
        if not is_built():
            build(tell)
        port, key = bound.getsockname()[1], secrets.token_urlsafe(32)
        link = f"http://{LOOPBACK}:{port}/#key={key}"
        hosts = [LOOPBACK, "localhost", *map(_host_of, trusted), *_forwarded_hosts(port)]
        config = uvicorn.Config(
            Book(HTML, key, hosts).app(),
            log_level="warning",
            access_log=False,
            server_header=False,
            headers=[("Cache-Control", "no-cache"), ("X-Content-Type-Options", "nosniff")],
            ws="none",
            lifespan="on",
            timeout_graceful_shutdown=END_SECONDS,
        )
        exit_on_termination()
        with _redirecting(link) as file:
            tell(f"the book is at {link}")
            tell("the link has a key in it: anyone with this link can edit and run your steps. Ctrl-C ends this.")
            if open_ and not webbrowser.open(file.as_uri()):
                tell("no browser could be opened; open the link yourself")
            with contextlib.suppress(KeyboardInterrupt):
                uvicorn.Server(config).run(sockets=[bound])
    return INTERRUPTED


def is_built() -> bool:
    """Return whether the built book is as new as its sources."""
    index = HTML / "index.html"
    tops = [ROOT / name for name in SOURCES]
    files = (path for top in tops for path in (top, *top.rglob("*")) if path.is_file() and ".pyc" not in path.suffixes)
    sources = (file for file in files if not file.is_relative_to(NO_SOURCE))
    return index.is_file() and max(map(saved_at, sources)) <= saved_at(index)


def build(tell: Callable[[str], None]) -> None:
    """Build the book.

    Raises:
        UserError: mdBook is missing, or has printed what is wrong.
    """
    tell("building the book, which takes about ten seconds")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command, environment = ["mdbook", "build", str(ROOT / "book")], os.environ | {"PATH": path}
    try:
        subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise UserError(f"mdBook did not build the book ({error}); `./run book` installs it") from error


def _host_of(origin: str) -> str:
    """Return the host of an origin, ``book.example`` of ``https://book.example:8000``; a bare host stays as it is."""
    return urlsplit(origin if "//" in origin else f"//{origin}").hostname or origin


def _forwarded_hosts(port: int) -> list[str]:
    """Return the host that GitHub's Codespaces gives a port of this machine, in a list; elsewhere an empty list."""
    name, domain = map(os.environ.get, ("CODESPACE_NAME", "GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN"))
    return [f"{name}-{port}.{domain}"] if name and domain else []


def _open_socket(port: int | None) -> socket.socket:
    """Return a socket that listens on this machine's own address.

    Raises:
        UserError: the port is taken, or cannot be opened; or, if none was named, no port can be.
    """
    if port is None:
        for candidate in (PORT, 0):
            with contextlib.suppress(OSError):
                return socket.create_server((LOOPBACK, candidate))
        raise UserError(f"No port of this machine can be opened. May programs listen on {LOOPBACK} here?")
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UserError(f"Port {port} is in use. Try --port {port + 1}") from error
        raise UserError(f"Port {port} cannot be opened: {error.strerror}") from error


@contextlib.contextmanager
def _redirecting(link: str) -> Iterator[Path]:
    """Make a file that leads a browser to a link, for this user alone: a command line is seen by everyone."""
    with writing():
        (ROOT / ".course").mkdir(exist_ok=True)
        folder = tempfile.TemporaryDirectory(prefix="open-", dir=ROOT / ".course")  # nobody else may enter it
        file = Path(folder.name, "book.html")
        file.write_text(f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={escape(link)}">\n')
    with folder:
        yield file
